"""Every line of the table of columns in docs/ESTIMATORS.md in fitted models: inputs, texts, missing entries, files."""

import re
from datetime import datetime, time
from math import cos, log, pi, sin
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
import polars
import pytest
import torch

from gplens import columns
from gplens.adapters.encoders import read_raw
from gplens.columns import Boolean, Category, Cyclic, DateTime, Drop, Kind, Log, Number, Time
from gplens.columns.planning import plan_columns
from gplens.estimators import GPRegressor, load
from messages import naming

PAGE = (Path(__file__).parents[2] / "docs" / "ESTIMATORS.md").read_text()
ROWS = re.findall(
    r"^\| `(\w+)\(.*?\)` \| (.*?) \| .*? \| (.*?) \| (.*?) \|$",
    PAGE.partition("## Columns")[2].partition("\n## ")[0],
    flags=re.MULTILINE,
)
TABLE = {name: (default, text, missing) for name, default, text, missing in ROWS}


class Line(NamedTuple):
    """A kind, an entry that prints as the table says, others beside it, its inputs and those of a missing one."""

    kind: Kind
    entry: Any
    others: list[Any]
    inputs: list[float]
    absent: list[float]


def turn(fraction: float) -> list[float]:
    return [cos(2 * pi * fraction), sin(2 * pi * fraction)]


WEEK = datetime(2019, 1, 7, 6, 30), [datetime(2019, 1, 8, 12, 0), datetime(2019, 1, 10, 6, 30)]
"""A Monday, and two further days of the same week, the median of the three in the middle."""
LINES = {
    "Number": Line(Number(), 12.5, [1.0, 20.0], [12.5, 0], [12.5, 1]),
    "Log": Line(Log(), 12.5, [1.0, 20.0], [log(12.5), 0], [log(12.5), 1]),
    "Boolean": Line(Boolean(), True, [False, True], [1, 0], [1, 1]),
    "Cyclic": Line(Cyclic(24), 23, [1, 24], [*turn(23 / 24), 0], [*turn(23 / 24), 1]),
    "Time": Line(Time(), time(6, 30), [time(1, 0), time(12, 0)], [*turn(6.5 / 24), 0], [*turn(6.5 / 24), 1]),
    "DateTime": Line(DateTime(("trend", "week")), WEEK[0], WEEK[1], [0, *turn(0), 0], [1 + 5.5 / 24, *turn(1 / 7), 1]),
    "Category": Line(Category(), "OldTown", ["Hill", "Hill"], [0, 1, 0], [0, 0, 1]),
    "Drop": Line(Drop(), "x", ["y", "z"], [], []),
}
each_line = pytest.mark.parametrize("name", LINES)


def table(line: Line, *, gap: bool) -> polars.DataFrame:
    """The entry, the others, if asked for a missing one, and a number beside them."""
    entries = [line.entry, *line.others, *([None] if gap else [])] * 3
    return polars.DataFrame({"a": entries, "b": np.linspace(-1.0, 1.0, len(entries))})


def fitted(line: Line, *, gap: bool) -> GPRegressor:
    frame = table(line, gap=gap)
    y = np.sin(np.arange(len(frame)))
    return GPRegressor("rbf", columns={"a": line.kind}, random_state=0, progress=False).fit(frame, y)


def test_the_table_has_every_kind() -> None:
    kinds = {name for name in columns.__all__ if name not in ("ColumnPlan", "Kind")}
    assert set(TABLE) == set(LINES) == kinds


@each_line
def test_a_line_of_the_table_holds_in_a_fitted_model(name: str, tmp_path: Path) -> None:
    """Inputs of an entry and of a missing one, what is printed, sums of attributions; and all of it from a file."""
    line, model = LINES[name], fitted(LINES[name], gap=True)
    frame = table(line, gap=True)
    np.testing.assert_allclose(model._read(frame)[0, :-1], line.inputs, atol=1e-12)
    np.testing.assert_allclose(model._read(frame)[3, :-1], line.absent, atol=1e-12)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.columns_, repr(loaded.columns_)) == (model.columns_, repr(model.columns_))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    own, again = (m.explain(frame[:4], baseline=frame[1:2]) for m in (model, loaded))
    assert torch.equal(own.values, again.values)
    assert repr(own) == repr(again)
    change = model.predict(frame[:4]) - model.predict(frame[1:2])
    np.testing.assert_allclose(own.values.sum(1), change, atol=1e-6)
    text = TABLE[name][1]
    printed = own.labels.input_text(0, 0)
    shown = f"{float(own.inputs[0, 0]):g}" if printed is None else printed
    assert shown == ("x" if text == "as it is" else text)
    if name == "Drop":
        assert not bool(own.values[:, 0].any())
    else:
        assert own.labels.input_text(3, 0) == "missing"


@each_line
def test_a_missing_entry_where_none_was_is_what_the_table_says(name: str) -> None:
    line, frame = LINES[name], table(LINES[name], gap=True)
    model = fitted(line, gap=False)
    if name == "Drop":
        same = frame[3:4].with_columns(a=polars.lit("y"))
        np.testing.assert_array_equal(model.predict(frame[3:4]), model.predict(same))
    elif name == "Category":
        with pytest.warns(UserWarning, match=naming("'a'", "row 0")):
            inputs = model._read(frame[3:4])
        np.testing.assert_allclose(inputs[0, :2], [2 / 3, 1 / 3])  # Hill and OldTown
    else:
        with pytest.raises(ValueError, match=naming("'a'", "row 0")):
            model.predict(frame[3:4])


DEFAULTS: dict[str, list[Any]] = {
    "Number": [1.5, 2.5],
    "Boolean": [True, False],
    "Time": ["1:00", "02:00:00"],
    "DateTime": ["2019-01-07 06:30", "2019-01-08 07:30"],
    "Category": ["x", "y"],
    "Drop": [None, None],
}


@pytest.mark.parametrize("name", TABLE)
def test_defaults_are_those_of_the_table(name: str) -> None:
    """A kind without a default is "-" in the table; a bare column of whole numbers called "hour" is a number."""
    if name not in DEFAULTS:
        assert TABLE[name][0] == "-"
        return
    frame = pandas.DataFrame({"a": DEFAULTS[name] * 4, "hour": [0, 6, 12, 18] * 2})
    raw, chosen = read_raw(frame, "X"), DateTime() if name == "DateTime" else LINES[name].kind
    plan = plan_columns(raw, None)
    if name != "Drop":  # whose reason is another one
        assert plan == plan_columns(raw, {"a": chosen})
    assert plan.inputs[-1] == "hour"
