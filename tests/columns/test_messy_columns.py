"""Columns as they come from files and from other programs: each is read as what it is, or refused with its name."""

import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from gplens.adapters.encoders import read_raw
from gplens.columns import Category, Drop
from gplens.columns.doubts import check_texts
from gplens.columns.planning import plan_columns
from gplens.estimators import GPRegressor
from messages import naming

ROWS = 24
B = np.random.default_rng(0).normal(size=ROWS)
Y = np.sin(3 * B)
WIDE = [2**53 + i % 3 for i in range(ROWS)]


def frame(entries: Any) -> pandas.DataFrame:
    return pandas.DataFrame({"a": entries, "b": B})


def objects(entries: list[Any]) -> pandas.Series:
    return pandas.Series((entries * ROWS)[:ROWS], dtype=object)


MOMENTS = [datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 2)]
REFUSED: dict[str, tuple[Any, Any, tuple[object, ...]]] = {
    "datetimes with and without a zone": (frame(objects(MOMENTS)), None, ("'a'", "'UTC'", "'no time zone'")),
    "dates and datetimes": (frame(objects([date(2020, 1, 1), MOMENTS[1]])), None, ("'a'", "datetime", "row 1")),
    "wide numbers as categories": (frame(WIDE), {"a": Category()}, ("'a'", 2**53, "row 0", "texts")),
    "wider than signed": (frame(np.array([1, 2**63], np.uint64)[[0, 1] * 12]), {"a": Category()}, ("'a'", "row 1")),
    "infinities as categories": (frame([1.0, np.inf] * 12), {"a": Category()}, ("'a'", "inf", "row 1")),
    "a number beyond all": (frame(objects([10**400, 1])), None, ("'a'", 1329, "row 0")),
    "numbers without a spread": (frame([2**53 + i for i in range(ROWS)]), None, ("'a'", "spread")),
    "a spread beside texts": (frame(["x", "y"] * 12).assign(c=1e9 + 1e-3 * B), None, ("'c'", "spread")),
    "lists": (frame([[1, 2]] * ROWS), None, ("'a'", "list", "row 0")),
    "bytes": (frame([b"x", b"y"] * 12), None, ("'a'", "bytes", "row 0")),
    "complex numbers": (frame(1j * B), None, ("'a'", "complex", "row 0")),
    "periods": (frame(pandas.period_range("2020-01", periods=ROWS, freq="M")), None, ("'a'", "Period", "row 0")),
    "equal names": (pandas.DataFrame(np.c_[B, B**2], columns=["a", "a"]), None, ("['a', 'a']",)),
    "masked entries": (np.ma.masked_array(np.c_[B, B**2], mask=np.c_[B > 1, B > 9]), None, ("X", int((B > 1).sum()))),
    "rows that are not read yet": (polars.DataFrame({"a": B}).lazy(), None, ("LazyFrame", "collect()")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_place(name: str) -> None:
    X, columns, parts = REFUSED[name]
    with pytest.raises(ValueError, match=naming(*parts)):
        GPRegressor(columns=columns, progress=False).fit(X, Y)


def test_masked_targets_are_refused() -> None:
    with pytest.raises(ValueError, match=naming("y", 1, "masked")):
        GPRegressor(progress=False).fit(B[:, None], np.ma.masked_array(Y, mask=np.arange(ROWS) == 3))


@pytest.mark.parametrize(("unit", "seconds"), [("ms", 1e-3), ("s", 1.0), ("D", 86400.0)])
def test_durations_of_arrays_are_seconds_in_any_unit(unit: str, seconds: float) -> None:
    X = np.arange(ROWS).astype(f"m8[{unit}]")[:, None]
    model = GPRegressor(progress=False).fit(X, Y)
    np.testing.assert_allclose(model._read(X)[:, 0], seconds * np.arange(ROWS), rtol=1e-12)
    e = model.explain(X[:2], baseline=X[-1:])
    np.testing.assert_allclose(e.values.sum(1), model.predict(X[:2]) - model.predict(X[-1:]), atol=1e-6)
    assert float(e.baseline[0, 0]) == pytest.approx(seconds * (ROWS - 1))


def test_whole_numbers_of_128_bits_are_numbers() -> None:
    wide = polars.DataFrame({"a": polars.Series([2**70 + i * 2**66 for i in range(ROWS)], dtype=polars.Int128), "b": B})
    model = GPRegressor(progress=False).fit(wide, Y)
    e = model.explain(wide[:2], baseline=wide[-1:])
    np.testing.assert_allclose(e.values.sum(1), model.predict(wide[:2]) - model.predict(wide[-1:]), atol=1e-6)
    assert float(e.baseline[0, 0]) == pytest.approx(2**70 + 23 * 2**66)


UNREADABLE: dict[str, Callable[[], Any]] = {
    "lists": lambda: frame([[1, 2]] * ROWS),
    "texts and numbers": lambda: frame(objects(["x", 3, None])),
    "structures": lambda: polars.DataFrame({"a": [{"u": 1}] * ROWS, "b": B}),
    "Arrow's lists": lambda: pyarrow.table({"a": [[1.0]] * ROWS, "b": B}),
    "an array": lambda: np.array([[("x", 3)[i % 2], b] for i, b in enumerate(B)], dtype=object),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_columns_that_are_left_out_may_hold_anything(name: str, tmp_path: Any) -> None:
    """In the training table and in new rows, also after a file; others may not."""
    X: Any = UNREADABLE[name]()
    key: Any = 0 if isinstance(X, np.ndarray) else "a"
    with pytest.raises(ValueError, match=naming("row")):
        GPRegressor(progress=False).fit(X, Y)
    model = GPRegressor(columns={key: Drop()}, progress=False).fit(X, Y)
    new, start = X[:2], X[9:10]
    e = model.explain(new, baseline=start)
    np.testing.assert_allclose(e.values.sum(1), model.predict(new) - model.predict(start), atol=1e-6)
    assert float(e.values[:, 0].abs().max()) == 0
    model.save(tmp_path)
    np.testing.assert_array_equal(GPRegressor.load(tmp_path).predict(new), model.predict(new))


def test_a_category_of_sixteen_digits_keeps_them() -> None:
    cards = [4111111111111111, 5500005555555559] * 12
    plan = plan_columns(read_raw(frame(cards), "X"), {"a": Category()})
    assert plan.inputs[:2] == ("a = 4111111111111111", "a = 5500005555555559")


def test_decimals_with_gaps_are_numbers_with_gaps() -> None:
    raw = read_raw(frame(objects([Decimal("1.5"), None, Decimal("NaN")])), "X")
    assert plan_columns(raw, None).inputs == ("a", "a is missing", "b")
    assert raw.columns[0].missing[:3].tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("texts", "warned"),
    [
        ([f"{i},250" for i in range(ROWS)], True),
        ([f"${i}" for i in range(ROWS)], True),
        ([f"{i:03d}" for i in range(ROWS)], False),
        (["1,250", "2,250"] * 12, False),
    ],
    ids=["thousands", "dollars", "codes", "two of them"],
)
def test_amounts_as_texts_are_warned_of_in_small_tables_too(texts: list[str], warned: bool) -> None:
    """Few different ones, and codes without separators, are categories by intent."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_texts(read_raw(frame(texts), "X").columns[:1])
    assert ["'a'" in str(warning.message) for warning in caught] == [True] * warned
