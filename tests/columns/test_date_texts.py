"""Dates as people write them into CSV files, compared with pandas, which is told the format."""

from datetime import date, datetime

import numpy as np
import pandas
import polars
import pytest

from gplens.adapters.encoders import read_raw
from gplens.adapters.entries import Entries
from gplens.adapters.typed_columns import of_objects
from gplens.columns import Category, DateTime
from gplens.columns.planning import from_json, plan_columns, to_json
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


@pytest.mark.parametrize("text", ["2020-02-31", "13/13/2020", "31.04.2020", "12/31/2020 13:00 PM", "2020-1-1", "7.5"])
def test_texts_that_are_no_dates_stay_texts(text: str) -> None:
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
