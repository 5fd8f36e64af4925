"""The table of columns in docs/ESTIMATORS.md, value by value: what every kind makes of its entries, and back."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import cos, log, pi, sin
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import torch

from gplens.adapters.encoders import read_raw
from gplens.columns import Boolean, Category, ColumnPlan, Cyclic, DateTime, Drop, Kind, Log, Number, Time
from gplens.columns.planning import DEFAULTS, from_json, plan_columns, to_json
from messages import naming

FRAMES: dict[str, Any] = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}
each_backend = pytest.mark.parametrize("backend", FRAMES)


def turn(fraction: float) -> list[float]:
    return [cos(2 * pi * fraction), sin(2 * pi * fraction)]


def plan_of(entries: list[Any], kind: Kind | None = None, backend: str = "polars") -> tuple[ColumnPlan, np.ndarray]:
    """The plan for one column, and the inputs of its entries."""
    raw = read_raw(FRAMES[backend]({"a": entries}), "X")
    plan = plan_columns(raw, None if kind is None else {"a": kind})
    return plan, plan.encode(raw)


WHEN = [datetime(2019, 1, 7, 6, 0), datetime(2020, 7, 2, 18, 0), datetime(2020, 12, 31, 0, 0)]
"""A Monday, a Thursday after 183 of the 366 days of its year, and a Thursday on the last day of a year."""
DAYS = [(when - WHEN[0]) / timedelta(days=1) for when in WHEN]
CYCLES = ("time of day", "weekday", "time of year")
OF_YEAR = [6.25 / 365, 183.75 / 366, 365 / 366]
CASES: list[tuple[str, list[Any], Kind | None, list[str], list[list[float]]]] = [
    ("numbers", [1.5, 2.0, -3.0], None, ["a"], [[1.5], [2.0], [-3.0]]),
    ("whole numbers", [1, 2, 5], None, ["a"], [[1.0], [2.0], [5.0]]),
    ("decimals", [Decimal("1.5"), Decimal("2.25")], None, ["a"], [[1.5], [2.25]]),
    ("durations", [timedelta(hours=1), timedelta(seconds=2.5)], None, ["a"], [[3600.0], [2.5]]),
    ("missing numbers", [1.0, None, 4.0, 9.0], None, ["a", "a is missing"], [[1, 0], [4, 1], [4, 0], [9, 0]]),
    ("logarithms", [1.0, 10.0], Log(), ["log(a)"], [[0.0], [log(10)]]),
    ("logarithms of counts", [0, 3], Log(plus=1), ["log(a + 1)"], [[0.0], [log(4)]]),
    ("booleans", [True, False], None, ["a"], [[1.0], [0.0]]),
    ("missing booleans", [True, None, True], None, ["a", "a is missing"], [[1, 0], [1, 1], [1, 0]]),
    ("texts", ["b", "a", "b"], None, ["a = a", "a = b"], [[0, 1], [1, 0], [0, 1]]),
    ("missing texts", ["b", None], None, ["a = b", "a = missing"], [[1, 0], [0, 1]]),
    ("categories of numbers", [20, 9, 20], Category(), ["a = 9", "a = 20"], [[0, 1], [1, 0], [0, 1]]),
    ("categories of booleans", [True, False], Category(), ["a = False", "a = True"], [[0, 1], [1, 0]]),
    ("one text", ["x", "x"], None, [], [[], []]),
    ("cyclic numbers", [0, 6, 23], Cyclic(24), ["cos(a)", "sin(a)"], [turn(0), turn(0.25), turn(23 / 24)]),
    ("times", [time(6, 0), time(23, 30)], None, ["cos(a)", "sin(a)"], [turn(0.25), turn(23.5 / 24)]),
    (
        "datetimes",
        WHEN,
        None,
        ["days(a)", *(f"{f}({part} of a)" for part in CYCLES for f in ("cos", "sin"))],
        [
            [days, *turn((when.hour % 24) / 24), *turn(when.weekday() / 7), *turn(year)]
            for days, when, year in zip(DAYS, WHEN, OF_YEAR, strict=True)
        ],
    ),
    ("the days of dates", [date(2020, 1, 1), date(2021, 1, 1)], DateTime(("trend",)), ["days(a)"], [[0.0], [366.0]]),
    (
        "texts that are dates and times",
        [f"{when:%Y-%m-%d %H:%M}" for when in WHEN],
        DateTime(("trend", "week")),
        ["days(a)", "cos(weekday of a)", "sin(weekday of a)"],
        [[days, *turn(when.weekday() / 7)] for days, when in zip(DAYS, WHEN, strict=True)],
    ),
    ("texts that are dates", ["2020-01-01", "2021-01-01"], DateTime(("trend",)), ["days(a)"], [[0.0], [366.0]]),
    ("dates as categories", ["2020-01-01", "x"], None, ["a = 2020-01-01", "a = x"], [[1, 0], [0, 1]]),
    ("no such day", ["2020-02-31", "2020-02-01"], None, ["a = 2020-02-01", "a = 2020-02-31"], [[0, 1], [1, 0]]),
    ("left out", ["x", "y"], Drop(), [], [[], []]),
]
"""Name, entries, kind, names of the inputs, inputs. Joining this list is joining the contract below."""
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])


def with_a_number(entries: list[Any], backend: str, kind: Kind | None) -> tuple[ColumnPlan, np.ndarray]:
    """The plan and the inputs of a column beside another one, which keeps a plan without other inputs possible."""
    raw = read_raw(FRAMES[backend]({"a": entries, "b": [float(i) for i in range(len(entries))]}), "X")
    plan = plan_columns(raw, None if kind is None else {"a": kind})
    return plan, plan.encode(raw)[:, :-1]


@each_backend
@each_case
def test_entries_become_inputs(case: Any, backend: str) -> None:
    _, entries, kind, names, inputs = case
    plan, values = with_a_number(entries, backend, kind)
    assert list(plan.inputs[:-1]) == names
    np.testing.assert_allclose(values, np.array(inputs, dtype=float).reshape(len(entries), -1), atol=1e-12)


@each_case
def test_a_plan_is_the_same_after_json(case: Any) -> None:
    plan, _ = with_a_number(case[1], "polars", case[2])
    again = from_json(to_json(plan))
    assert again == plan
    assert repr(again) == repr(plan)


@each_case
def test_inputs_of_a_row_are_decoded_to_its_entry(case: Any) -> None:
    """The texts and numbers that an explanation shows for rows and for baselines are the same."""
    _, entries, kind, *_ = case
    if isinstance(kind, Drop):
        return
    raw = read_raw(polars.DataFrame({"a": entries, "b": [0.0] * len(entries)}), "X")
    plan = plan_columns(raw, None if kind is None else {"a": kind})
    _, original = plan.read(polars.DataFrame({"a": entries, "b": [0.0] * len(entries)}), "X")
    decoded = plan.decode(torch.from_numpy(plan.encode(raw)))
    texts = [[part.texts.text(i, 0) for i in range(len(entries))] for part in (original, decoded)]
    assert texts[0] == texts[1]
    np.testing.assert_allclose(decoded.numbers, original.numbers, rtol=1e-9, atol=1e-9)


def test_every_family_has_a_default() -> None:
    numbers: dict[str, type[Kind]] = {"number": Number, "duration": Number, "boolean": Boolean, "text": Category}
    dates: dict[str, type[Kind]] = {"datetime": DateTime, "date": DateTime, "time": Time}
    assert {family: type(kind) for family, kind in DEFAULTS.items()} == {**numbers, **dates}


def test_parts_of_a_date_that_do_not_vary_are_left_out() -> None:
    """Dates have no time of day; Mondays of one week each have no weekday."""
    mondays = [date(2020, 1, 6) + timedelta(weeks=i) for i in range(5)]
    assert plan_of(mondays)[0].inputs == ("days(a)", "cos(time of year of a)", "sin(time of year of a)")
    every_day = [date(2020, 1, 6) + timedelta(days=i) for i in range(5)]
    assert len(plan_of(every_day)[0].inputs) == 5


@each_backend
def test_the_clock_of_a_time_zone_counts(backend: str) -> None:
    """6 o'clock in Berlin is 6 o'clock, in summer and in winter; another zone is refused by its name."""
    zone = ZoneInfo("Europe/Berlin")
    six = [datetime(2020, month, 1, 6, 0, tzinfo=zone) for month in (1, 7)]
    entries = pandas.Series(pandas.to_datetime(six, utc=True).tz_convert("Europe/Berlin"))
    frame = {"pandas": pandas.DataFrame, "polars": polars.from_pandas, "pyarrow": pyarrow.Table.from_pandas}[backend]
    raw = read_raw(frame(pandas.DataFrame({"a": entries})), "X")
    plan = plan_columns(raw, {"a": DateTime(("trend", "day"))})
    np.testing.assert_allclose(plan.encode(raw)[:, 1:], [turn(0.25)] * 2, atol=1e-12)
    elsewhere = read_raw(pandas.DataFrame({"a": entries.dt.tz_convert("UTC")}), "X")
    with pytest.raises(ValueError, match=naming("'a'", "Europe/Berlin", "UTC")):
        plan.encode(elsewhere)


@pytest.mark.parametrize(
    ("entries", "kind", "parts"),
    [
        ([1.0, 0.0], Log(), ["'a'", 0, "row 1", "Log"]),
        ([1.0, float("inf")], None, ["'a'", "inf", "row 1"]),
        (["x", "y"], Log(), ["'a'", "texts", "Log"]),
        (["x", "y"], Cyclic(24), ["'a'", "texts", "24"]),
        ([date(2020, 1, 1)] * 2, Category(), ["'a'", "dates", "Category"]),
        ([time(1, 0)] * 2, DateTime(), ["'a'", "times", "DateTime"]),
        ([f"name {i}" for i in range(60)], None, ["'a'", 60, "'name 0'", "Drop"]),
    ],
    ids=str,
)
def test_entries_that_do_not_fit_are_refused(entries: list[Any], kind: Kind | None, parts: list[Any]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        plan_of(entries, kind)


def test_entries_of_several_kinds_are_refused_with_the_row() -> None:
    frame = pandas.DataFrame({"a": pandas.Series(["x", "y", 3], dtype=object)})
    with pytest.raises(ValueError, match=naming("'a'", "int", 3, "row 2")):
        read_raw(frame, "X")
    with pytest.raises(ValueError, match=naming("'a'", "list", "row 0")):
        read_raw(polars.DataFrame({"a": [[1], [2]]}), "X")


def test_nullable_types_of_pandas() -> None:
    frame = pandas.DataFrame(
        {
            "i": pandas.array([1, None, 3], dtype="Int64"),
            "f": pandas.array([1.5, None, 2.5], dtype="Float64"),
            "b": pandas.array([True, None, False], dtype="boolean"),
            "s": pandas.array(["x", None, "y"], dtype="string"),
            "c": pandas.Categorical([7, None, 8]),
            "o": pandas.Series([True, None, False], dtype=object),
        }
    )
    raw = read_raw(frame, "X")
    families = {entries.name: entries.family for entries in raw.columns}
    assert families == {"i": "number", "f": "number", "b": "boolean", "s": "text", "c": "text", "o": "boolean"}
    assert all(entries.missing.tolist() == [False, True, False] for entries in raw.columns)
    assert plan_columns(raw, None).inputs[:4] == ("i", "i is missing", "f", "f is missing")


@pytest.mark.parametrize(
    "make",
    [lambda: Cyclic(0), lambda: Log(plus=float("nan")), lambda: DateTime(("month",))],  # type: ignore[arg-type]
)
def test_kinds_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        make()


@each_backend
def test_dates_of_a_csv_file_are_dates_without_being_told(backend: str) -> None:
    """The plan is that of the same dates as objects; a text that is no date is refused with its row and column."""
    days = [date(2019, 1, 7), date(2020, 7, 2), None, date(2020, 12, 31)]
    texts = [None if day is None else f"{day}" for day in days]
    (plan, inputs), (same, expected) = plan_of(texts, backend=backend), plan_of(days, backend=backend)
    assert plan == same
    np.testing.assert_array_equal(inputs, expected)
    raw = read_raw(FRAMES[backend]({"a": ["2019-01-07", "soon"]}), "X")
    with pytest.raises(ValueError, match=naming("dates", "'a'", "'soon'", "row 1")):
        plan.encode(raw)
