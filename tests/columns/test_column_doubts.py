"""What is said at once about columns that are hardly what they are taken for."""

import warnings

import numpy as np
import pandas
import pytest

from gplens.adapters.encoders import read_raw
from gplens.columns import Drop
from gplens.columns.doubts import check_texts, warn_of_columns
from gplens.columns.planning import plan_columns
from messages import naming

ROWS = 80


def test_all_columns_of_names_are_refused_at_once() -> None:
    names, prices = [f"name {i}" for i in range(ROWS)], [f"${i},250.00" for i in range(ROWS)]
    raw = read_raw(pandas.DataFrame({"a": names, "b": prices, "c": ["x", "y"] * (ROWS // 2)}), "X")
    parts = ["'a'", "'b'", "'name 0'", "'$0,250.00' (numbers as texts)", "{'a': Drop(), 'b': Drop()}"]
    with pytest.raises(ValueError, match=naming(*parts)):
        plan_columns(raw, None)
    assert len(plan_columns(raw, {"a": Drop(), "b": Drop()}).inputs) == 2


def test_numbers_beside_a_sign_for_missing_ones_are_warned_of() -> None:
    """As in tables of which missing horsepowers are "?"; codes that are all numbers are categories by intent."""
    texts = [str(i % 30) for i in range(ROWS - 1)]
    mixed, codes = (read_raw(pandas.DataFrame({"power": [*texts, last]}), "X").columns for last in ("?", "1"))
    with pytest.warns(UserWarning, match=naming("'power'", 31, "'?'")):
        check_texts(mixed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_texts(codes)


@pytest.mark.parametrize(
    ("name", "numbers", "warned"),
    [
        ("Id", range(ROWS), True),
        ("PID", range(526301100, 526301100 + 7 * ROWS, 7), True),
        ("user_id", range(ROWS), True),
        ("Unnamed: 0", range(ROWS), True),
        ("paid", range(ROWS), False),
        ("id", np.linspace(0, 1, ROWS), False),
        ("id", [1] * 2 + list(range(2, ROWS)), False),
    ],
)
def test_columns_that_number_the_rows_are_warned_of(name: str, numbers: object, warned: bool) -> None:
    raw = read_raw(pandas.DataFrame({name: numbers, "b": np.ones(ROWS).cumsum() ** 2}), "X")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_columns(plan_columns(raw, None), raw)
        warn_of_columns(plan_columns(raw, {name: Drop()}), raw)
    assert [f"{{{name!r}: Drop()}}" in str(warning.message) for warning in caught] == [True] * warned
