"""The columns of a user's table: numbers, texts, booleans, dates and times, some of them missing."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

FAMILIES = {
    "number": "numbers",
    "duration": "durations",
    "boolean": "booleans",
    "text": "texts",
    "datetime": "datetimes",
    "date": "dates",
    "time": "times of day",
}
"""The kinds of entries of a column, and their names in messages."""
EPOCH = datetime(1970, 1, 1)
ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?", re.ASCII)
"""The pattern of texts that are dates, or dates and times without a zone."""


@final
@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of one column, all of one family.

    Numbers are themselves, durations seconds, booleans 0 and 1; dates and datetimes are seconds since
    1970 on the clock of their zone, times seconds since midnight, all float64 with NaN for a missing one. Texts are an
    array of objects, with None for a missing one.
    """

    name: str
    family: str
    values: NDArray[Any]
    zone: str | None = None
    """The time zone of datetimes; None if they have none."""

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which entries are missing."""
        if self.family == "text":
            return np.array([value is None for value in self.values], dtype=bool)
        return np.isnan(self.values)

    def called(self, name: str) -> "Entries":
        """The same entries under another column name."""
        return replace(self, name=name)

    def as_family(self, family: str) -> "Entries":
        """The same as entries of another family: booleans are numbers, texts such as "2019-01-07" are dates, and
        entries that are all missing are anything.

        Raises:
            ValueError: the entries are of another family, with the first one and its row.
        """
        if self.family == family or {self.family, family} == {"number", "boolean"}:
            return replace(self, family=family)
        present = np.flatnonzero(~self.missing)
        if family in ("date", "datetime") and (dates := self.dates()) is not None:
            return replace(dates, family=family)
        if len(present) == 0:
            blank = np.full(len(self.values), None) if family == "text" else np.full(len(self.values), np.nan)
            return Entries(self.name, family, blank)
        row = int(present[0])
        raise ValueError(
            f"expected {FAMILIES[family]} in column {self.name!r}, got {FAMILIES[self.family]}, the first "
            f"{self.shown(row)!r} in row {row}; pass the column as it was when the model was fitted."
        )

    def dates(self) -> "Entries | None":
        """Texts as dates, or dates and times, in the form of a CSV file; None if one of them is not a date."""
        if self.family != "text" or bool(self.missing.all()):
            return None
        if not all(text is None or ISO.fullmatch(text) for text in self.values):
            return None
        try:
            moments = [None if text is None else datetime.fromisoformat(text) for text in self.values]
        except ValueError:  # such as the 31st of February
            return None
        family = "date" if all(text is None or len(text) == len("2019-01-07") for text in self.values) else "datetime"
        return Entries(self.name, family, np.array([_number(moment) for moment in moments], dtype=np.float64))

    def shown(self, row: int) -> str:
        """One entry as text."""
        value = self.values[row]
        if self.family == "text":
            return "missing" if value is None else value
        return "missing" if np.isnan(value) else text_of(self.family, float(value))


def text_of(family: str, value: float) -> str:
    """A number, boolean, date or time as text."""
    if family == "boolean" and value in (0, 1):
        return str(bool(value))
    if family in ("date", "datetime", "time"):
        at = EPOCH + timedelta(milliseconds=round(value * 1000))
        moment = at.time().isoformat("milliseconds").removesuffix(".000").removesuffix(":00")
        return {"date": f"{at.date()}", "datetime": f"{at.date()} {moment}", "time": moment}[family]
    if family == "duration":
        return str(timedelta(seconds=value))
    return f"{int(value)}" if abs(value) < 1e15 and value == round(value) else f"{value!r}"


def of_series(series: Any, name: str) -> Entries:
    """The entries of a narwhals series."""
    import narwhals

    dtype = series.dtype
    if dtype.is_numeric():
        return Entries(name, "number", np.array(series.cast(narwhals.Float64).to_numpy(), dtype=np.float64))
    if dtype == narwhals.Datetime:
        moments = series.dt.replace_time_zone(None).dt.timestamp("us").to_list()
        return Entries(name, "datetime", _floats(moments) / 1e6, dtype.time_zone)
    if dtype == narwhals.Duration:
        return Entries(name, "duration", _floats(series.dt.total_microseconds().to_list()) / 1e6)
    absent, values = series.is_null().to_list(), series.to_list()
    values = [None if gone else value for gone, value in zip(absent, values, strict=True)]
    if dtype in (narwhals.Categorical, narwhals.Enum):
        values = [None if value is None else str(value) for value in values]  # categories may be numbers
    return of_objects(values, name, str(dtype))


def of_objects(values: Sequence[Any], name: str, kind: str = "object") -> Entries:
    """The entries of a list of Python objects, whose types say what they are.

    Raises:
        ValueError: entries of several families, or of none that is known, with the first such row.
    """
    values = [None if is_missing(value) else value for value in values]
    families = [None if value is None else _family(value) for value in values]
    present = [family for family in families if family is not None]
    family = present[0] if present else "number"
    odd = next((i for i, other in enumerate(families) if other not in (None, family) or other == ""), None)
    if odd is not None:
        what = "one kind" if family else "numbers, texts, booleans, dates or times"
        raise ValueError(
            f"expected entries of {what} in column {name!r} of type {kind}, got {type(values[odd]).__name__} "
            f"{values[odd]!r} in row {odd}{'' if not family else f' after {FAMILIES[family]}'}; convert the column, or "
            "leave it out."
        )
    if family == "text":
        return Entries(name, family, np.array([None if v is None else str(v) for v in values], dtype=object))
    zones = {str(v.tzinfo) for v in values if isinstance(v, datetime) and v.tzinfo is not None}
    if len(zones) > 1:
        raise ValueError(
            f"expected one time zone in column {name!r}, got {sorted(zones)}; convert the column to one of them."
        )
    zone = zones.pop() if zones else None
    return Entries(name, family, np.array([_number(value) for value in values], dtype=np.float64), zone)


def _floats(values: Iterable[Any]) -> NDArray[np.float64]:
    return np.array([np.nan if is_missing(value) else float(value) for value in values], dtype=np.float64)


def is_missing(value: Any) -> bool:
    """None, NaN, and the missing values of pandas, which compare with nothing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _family(value: Any) -> str:
    """The family of a Python object; empty if it has none."""
    kinds: list[tuple[str, Any]] = [("boolean", bool | np.bool_), ("text", str), ("datetime", datetime), ("date", date)]
    kinds += [("time", time), ("duration", timedelta), ("number", Real | Decimal)]
    return next((family for family, kind in kinds if isinstance(value, kind)), "")


def _number(value: Any) -> float:
    """A Python object as the number that stands for it."""
    if value is None:
        return np.nan
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - EPOCH) / timedelta(seconds=1)
    if isinstance(value, date):
        return (datetime.combine(value, time()) - EPOCH) / timedelta(seconds=1)
    if isinstance(value, time):
        return 3600.0 * value.hour + 60 * value.minute + value.second + value.microsecond / 1e6
    return value / timedelta(seconds=1) if isinstance(value, timedelta) else float(value)
