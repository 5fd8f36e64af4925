"""Dates and times as people write them into CSV files, compared with pandas, which is told the format."""

from datetime import date, datetime, time
from pathlib import Path

import numpy as np
import pandas
import polars
import pytest

from gplens.adapters.encoders import read_raw
from gplens.adapters.entries import Entries
from gplens.adapters.typed_columns import of_objects
from gplens.batch.column_types import types_of
from gplens.batch.sources import Source
from gplens.columns import Category, DateTime, Time
from gplens.columns.planning import from_json, plan_columns, to_json
from gplens.estimators import GPRegressor, load
from messages import naming

WHEN = [datetime(2019, 1, 7, 6, 30, 5), datetime(2020, 2, 29, 0, 0), datetime(2021, 12, 25, 23, 59, 59)]
FORMATS = [
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d %b %Y",
    "%d-%b-%Y",
    "%b %d, %Y",
    "%B %d %Y",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M:%S.%f",
    "%m/%d/%Y %I:%M %p",
    "%d.%m.%Y %H:%M:%S",
    "%d/%m/%Y, %I:%M:%S %p",
]


def dates_of(texts: list[str | None]) -> Entries:
    entries = of_objects(texts, "a")
    (layout,) = entries.layouts()
    dates = entries.dates(layout)
    assert dates is not None
    return dates


@pytest.mark.parametrize("written", FORMATS)
def test_a_layout_is_read_as_pandas_reads_it(written: str) -> None:
    texts = [when.strftime(written) for when in WHEN]
    expected = pandas.to_datetime(pandas.Series(texts), format=written)
    dates = dates_of([*texts, None])
    np.testing.assert_array_equal(dates.values[:-1], expected.astype("datetime64[s]").astype("int64"))
    assert bool(np.isnan(dates.values[-1]))
    assert dates.family == ("datetime" if "%M" in written else "date")


@pytest.mark.parametrize(
    ("texts", "zone", "hours"),
    [
        (["2021-01-01T06:30:00Z", "2021-07-01T18:30:00.123456789Z"], "UTC", [6.5, 18.5]),
        (["2021-01-01 06:30 UTC", "2021-07-01 18:30 UTC"], "UTC", [6.5, 18.5]),
        (["2021-01-01 06:30:00+01:00", "2021-07-01 18:30:00+02:00"], "of the offsets in the texts", [6.5, 18.5]),
        (["12/31/2021 12:15 AM", "12/31/2021 12:15 PM"], None, [0.25, 12.25]),
    ],
)
def test_the_clock_that_is_written_counts(texts: list[str], zone: str | None, hours: list[float]) -> None:
    dates = dates_of(list(texts))
    assert dates.zone == zone
    np.testing.assert_allclose(dates.values % 86400 / 3600, hours, atol=1e-3)


@pytest.mark.parametrize(
    "text",
    [
        "2020-02-31",
        "13/13/2020",
        "31.04.2020",
        "12/31/2020 13:00 PM",
        "2020-1-1",
        "7.5",
        "24:00",
        "7:5",
        "12:60",
        "1:00:60",
        "13:00 PM",
    ],
)
def test_texts_that_are_no_dates_or_times_stay_texts(text: str) -> None:
    assert of_objects([text, text], "a").layouts() == []


def test_day_and_month_that_cannot_be_told_apart_are_refused() -> None:
    raw = read_raw(polars.DataFrame({"a": ["01/02/2020", "03/04/2020"], "b": [1.0, 2.0]}), "X")
    with pytest.raises(ValueError, match=naming("'a'", "'01/02/2020'", "31/12/2019", "12/31/2019", "dayfirst")):
        plan_columns(raw, None)
    assert plan_columns(raw, {"a": Category()}).inputs == ("a = 01/02/2020", "a = 03/04/2020", "b")


def test_new_rows_are_read_in_the_layout_of_the_training_table() -> None:
    """01/02/2020 is the first of February after 25/12/2019, also in a plan from a file; other layouts are refused."""
    column = lambda *texts: read_raw(polars.DataFrame({"a": texts}), "X")  # noqa: E731
    plan = plan_columns(column("25/12/2019", "01/02/2020", "03/04/2020"), {"a": DateTime(("trend",))})
    again = from_json(to_json(plan))
    assert again == plan
    expected = [[(date(2020, 2, 1) - date(2019, 12, 25)).days]]
    np.testing.assert_array_equal(again.encode(column("01/02/2020")), expected)
    as_date = read_raw(pandas.DataFrame({"a": [pandas.Timestamp(2020, 2, 1)]}), "X")
    np.testing.assert_array_equal(again.encode(as_date), expected)
    with pytest.raises(ValueError, match=naming("31/12/2019", "'a'", "'12/25/2019'", "row 1")):
        again.encode(column("01/02/2020", "12/25/2019"))
    with pytest.raises(ValueError, match=naming("dates", "'a'", "2020-02-01 06:30", "row 0")):
        again.encode(read_raw(pandas.DataFrame({"a": [pandas.Timestamp(2020, 2, 1, 6, 30)]}), "X"))


TIMES = {
    "%H:%M": ["07:30", "23:59", "00:00"],
    "%H:%M:%S": ["07:30:15", "23:59:59", "00:00:00"],
    "%H:%M:%S.%f": ["07:30:15.25", "23:59:59.999", "00:00:00.001"],
    "%I:%M %p": ["07:30 AM", "11:59 PM", "12:00 AM"],
    "%I:%M:%S%p": ["07:30:15am", "12:59:59pm", "12:00:01AM"],
}


@pytest.mark.parametrize("written", TIMES)
def test_times_of_day_are_read_as_pandas_reads_them(written: str) -> None:
    texts = TIMES[written]
    expected = pandas.to_datetime(pandas.Series(texts), format=written)
    times = dates_of([*texts, None])
    assert times.family == "time"
    assert times.zone is None
    np.testing.assert_allclose(times.values[:-1], (expected - pandas.Timestamp(1900, 1, 1)).dt.total_seconds())
    assert bool(np.isnan(times.values[-1]))


def test_times_of_one_table_may_differ_in_digits() -> None:
    np.testing.assert_array_equal(dates_of(["07:30", "7:30:15", "23:59", "7:05"]).values, [27000, 27015, 86340, 25500])


def frame_of(*texts: str | None) -> pandas.DataFrame:
    return pandas.DataFrame({"time": texts, "heat": [float(i) for i in range(len(texts))]})


def test_times_in_texts_are_cyclic_and_come_back_from_a_file() -> None:
    """Also times as Python has them; texts that are no times of this layout are refused with row and column."""
    plan = plan_columns(read_raw(frame_of("07:30", "7:30:15", "23:59", "18:00"), "X"), None)
    assert plan.inputs == ("cos(time)", "sin(time)", "heat")
    assert plan.arcs == ((0, 1),)
    again = from_json(to_json(plan))
    assert again == plan
    angle = 2 * np.pi * 6 / 24
    for entry in ("6:00", "06:00:00", time(6)):
        row = again.encode(read_raw(pandas.DataFrame({"time": [entry], "heat": [1.0]}), "X"))
        np.testing.assert_allclose(row[0], [np.cos(angle), np.sin(angle), 1.0], atol=1e-15)
    _, shown = again.read(frame_of("7:30", "07:30:15", "00:00:00"), "X")
    assert [shown.texts.text(i, 0) for i in range(3)] == ["07:30", "07:30:15", "00:00"]
    for odd in ("24:00", "7:30 PM", "2019-01-07 06:00", "soon"):
        with pytest.raises(ValueError, match=naming("'time'", "23:59", repr(odd), "row 1")):
            again.encode(read_raw(frame_of("7:30", odd), "X"))
    with pytest.raises(ValueError, match=naming("missing", "'time'", "row 0")):
        again.encode(read_raw(frame_of(None), "X"))


def test_a_model_of_times_as_objects_takes_texts() -> None:
    objects = pandas.DataFrame({"time": [time(7, 30), time(9), time(23, 59)], "heat": [1.0, 2.0, 3.0]})
    plan = plan_columns(read_raw(objects, "X"), None)
    np.testing.assert_array_equal(
        plan.encode(read_raw(frame_of("7:30"), "X"))[:, :2], plan.encode(read_raw(objects[:1], "X"))[:, :2]
    )


def test_kinds_that_are_chosen_for_times_in_texts() -> None:
    raw = read_raw(frame_of("07:30", "18:00", None), "X")
    assert plan_columns(raw, {"time": Time()}) == plan_columns(raw, None)
    assert plan_columns(raw, None).inputs == ("cos(time)", "sin(time)", "time is missing", "heat")
    assert plan_columns(raw, {"time": Category()}).inputs == ("time = 07:30", "time = 18:00", "time = missing", "heat")
    with pytest.raises(ValueError, match=naming("'time'", "times of day", "DateTime")):
        plan_columns(raw, {"time": DateTime()})


def test_the_text_that_keeps_a_column_from_being_times_is_named() -> None:
    texts = [f"{i // 60:02}:{i % 60:02}" for i in range(120)]
    with pytest.raises(ValueError, match=naming("'time'", "'24:10'", "row 77")):
        plan_columns(read_raw(frame_of(*texts[:77], "24:10", *texts[78:]), "X"), None)


def test_a_csv_file_with_times_is_fitted_saved_and_explained(tmp_path: Path) -> None:
    """Sums are changes of `predict`, times are printed, and files of new rows are read as pandas reads them."""
    r = np.random.default_rng(0)
    minutes = r.integers(0, 1440, 80)
    texts = [f"{m // 60}:{m % 60:02}" + (":30" if m % 3 == 0 else "") for m in minutes]
    rows = pandas.DataFrame({"time": texts, "heat": r.normal(size=80).round(6)})
    y = np.cos(2 * np.pi * minutes / 1440) + 0.1 * r.normal(size=80)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    frame = pandas.read_csv(tmp_path / "rows.csv")
    model = GPRegressor("rbf", random_state=0, progress=False).fit(frame, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    explanation = loaded.explain(frame[:5], baseline=frame.iloc[7])
    np.testing.assert_allclose(
        explanation.values.sum(1), model.predict(frame[:5]) - model.predict(frame[7:8]), atol=1e-7
    )
    assert explanation.feature_names == ("time", "heat")
    assert explanation.labels.input_text(0, 0) == ":".join(part.zfill(2) for part in texts[0].split(":"))
    assert f"time = {explanation.labels.input_text(0, 0)}" in str(explanation[0])
    plan = loaded.columns_
    (piece,) = Source(tmp_path / "rows.csv").pieces(plan.names, types_of(plan))
    np.testing.assert_array_equal(plan.encode(plan.raw(piece, "X")), plan.encode(plan.raw(frame, "X")))
