"""The columns of a user's table: numbers, texts, booleans, dates and times, some of them missing."""

from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from gplens.adapters.date_texts import ISO, TIMES, family_of, first_other, layouts_of, moments_of, usual_layout, zone_of

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
DAY = 86400.0
"""Seconds."""


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
    """The time zone of datetimes; None for those without one."""
    layout: str | None = None
    """How dates or times were written that were texts, as in LAYOUTS; None for 2019-12-31."""

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which entries are missing."""
        if self.family == "text":
            return np.array([value is None for value in self.values], dtype=bool)
        return np.isnan(self.values)

    def called(self, name: str) -> "Entries":
        """The same entries under another column name."""
        return replace(self, name=name)

    def as_family(self, family: str, layout: str | None = None) -> "Entries":
        """The same as entries of another family: booleans are numbers; texts such as "2019-01-07" and "07:30" are dates
        and times, in the layout of the training table if it had one; and entries that are all missing are anything.

        Raises:
            ValueError: the entries are of another family, with the first one and its row.
        """
        if self.family == family or {self.family, family} == {"number", "boolean"}:
            return replace(self, family=family)
        present = np.flatnonzero(~self.missing)
        if len(present) == 0:
            blank = np.full(len(self.values), None) if family == "text" else np.full(len(self.values), np.nan)
            return Entries(self.name, family, blank)
        row = int(present[0])
        if {self.family, family} == {"date", "datetime"}:
            timed = self.values[present] % DAY != 0
            if family == "datetime" or not bool(timed.any()):
                return replace(self, family=family)
            row = int(present[timed.argmax()])
        elif family in ("date", "datetime", "time") and self.family == "text":
            layouts = [layout] if layout else self.layouts() or [next(iter(TIMES)) if family == "time" else ISO]
            if len(layouts) == 1 and (dates := self.dates(layouts[0])) is not None:
                return dates.as_family(family)
            row = first_other(list(self.values), layouts[0]) or row
        raise ValueError(
            f"expected {FAMILIES[family]}{f' such as {layout}' if layout else ''} in column {self.name!r}, got "
            f"{FAMILIES[self.family]}, such as {self.shown(row)!r} in row {row}; pass the column as it was when the "
            "model was fitted."
        )

    def layouts(self) -> list[str]:
        """How texts that all are dates, or all times, are written (LAYOUTS); several if day and month cannot be told
        apart."""
        if self.family != "text" or bool(self.missing.all()):
            return []
        return layouts_of(text for text in self.values if text is not None)

    def dates(self, layout: str) -> "Entries | None":
        """The dates, datetimes or times of day that texts of a layout are; None if one of them has another layout."""
        if (moments := moments_of(list(self.values), layout)) is None:
            return None
        texts = [text for text in self.values if text is not None]
        values = np.array([number_of(moment) for moment in moments], dtype=np.float64)
        named = None if layout == ISO else layout
        return Entries(self.name, family_of(texts, layout), values, zone_of(texts, layout), named)

    def unlike_most(self) -> int | None:
        """The row of the first text that is not written as most others are, if these are dates or times of day."""
        layout = usual_layout([text for text in self.values if text is not None])
        return None if layout is None else first_other(list(self.values), layout)

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
    return f"{int(value)}" if abs(value) < 2**53 and value == round(value) else f"{value!r}"


def is_missing(value: Any) -> bool:
    """None, NaN, and the missing values of pandas, which compare with nothing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def number_of(value: Any) -> float:
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
