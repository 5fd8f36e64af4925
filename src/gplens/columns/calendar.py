"""Dates and datetimes: a trend, and the cyclic time of day, weekday and time of the year."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

import numpy as np

from gplens.adapters.entries import text_of
from gplens.columns.cyclic import DAY, circle
from gplens.columns.kind import Numbers
from gplens.columns.scalar import Scalar

PARTS = ("trend", "day", "week", "year")


def _of_day(x: Numbers) -> Numbers:
    """The time of day in days."""
    return np.mod(x, DAY) / DAY


def _of_week(x: Numbers) -> Numbers:
    """The weekday in weeks; 0 is a Monday, and 1970 began on a Thursday."""
    return np.mod(np.floor(x / DAY) + 3, 7) / 7


def _of_year(x: Numbers) -> Numbers:
    """The time of the year in years, leap years included."""
    years = np.floor(x).astype("datetime64[s]").astype("datetime64[Y]")
    begin, end = (year.astype("datetime64[s]").astype(np.float64) for year in (years, years + 1))
    return (x - begin) / (end - begin)


CYCLES: dict[str, tuple[str, Callable[[Numbers], Numbers]]] = {
    "day": ("time of day", _of_day),
    "week": ("weekday", _of_week),
    "year": ("time of year", _of_year),
}
"""The cyclic parts: their names, and functions from seconds since 1970 to the fraction of the cycle."""


@final
@dataclass(frozen=True)
class DateTime(Scalar):
    """Days since an origin, and (cos, sin) of time of day, weekday and time of year; the default for dates.

    Datetimes are read in their own time zone.

    Raises:
        ValueError: if a part is not one of the four.

    Example:
        >>> gplens.columns.DateTime(parts=None)
        DateTime(parts=None)
    """

    parts: tuple[str, ...] | None = None
    """Some of "trend", "day", "week" and "year"; None stands for all that vary in the training table."""
    origin: float | int | None = field(default=None, repr=False)
    """The origin of the trend in seconds since 1970; None stands for the first date of the training table."""
    families: ClassVar[tuple[str, ...]] = ("date", "datetime")
    straight: ClassVar[str | None] = "days and angles (the shorter way round)"

    def __post_init__(self) -> None:
        parts = self.parts
        if parts is not None and (isinstance(parts, str) or not parts or not set(parts) <= set(PARTS)):
            raise ValueError(f"DateTime: expected one or more of the parts {PARTS}, got {parts!r}.")

    def resolved(self, x: Numbers) -> "DateTime":
        varying = [part for part in PARTS if part == "trend" or len(np.unique(CYCLES[part][1](x))) > 1]
        parts = tuple(varying) if self.parts is None else tuple(part for part in PARTS if part in self.parts)
        return replace(self, parts=parts, origin=float(x.min()) if self.origin is None else float(self.origin))

    def inputs(self, name: str) -> tuple[str, ...]:
        inputs: list[str] = []
        for part in self.parts or PARTS:
            functions = ("days",) if part == "trend" else ("cos", "sin")
            what = name if part == "trend" else f"{CYCLES[part][0]} of {name}"
            inputs += [f"{function}({what})" for function in functions]
        return tuple(inputs)

    def sharing(self) -> tuple[tuple[int, ...], ...]:
        sets, count = [], 0
        for part in self.parts or PARTS:
            size = 1 if part == "trend" else 2
            sets.append(tuple(range(count, count + size)))
            count += size
        return tuple(sets)

    def arcs(self) -> tuple[tuple[int, int], ...]:
        return tuple((members[0], members[1]) for members in self.sharing() if len(members) == 2)

    def forward(self, x: Numbers) -> Numbers:
        trend = ((x - (self.origin or 0.0)) / DAY)[:, None]
        parts = self.parts or PARTS
        return np.column_stack([trend if part == "trend" else circle(CYCLES[part][1](x)) for part in parts])

    def backward(self, values: Numbers) -> Numbers:
        """The date that belongs to the trend; NaN without a trend."""
        if "trend" not in (self.parts or PARTS):
            return np.full(len(values), np.nan)
        return np.round((self.origin or 0.0) + DAY * values[:, 0], 3)  # to milliseconds, else a day may begin too early

    def text(self, x: float) -> str | None:
        """At midnight, the date alone if the time of day is not an input."""
        dated = self.parts is not None and "day" not in self.parts and x % DAY == 0
        return text_of("date", x) if dated else None

    @property
    def description(self) -> str:
        cycles = [CYCLES[part][0] for part in self.parts or PARTS if part != "trend"]
        trend = ["days since the first"] if "trend" in (self.parts or PARTS) else []
        return " and ".join(trend + ([f"cos and sin of {', '.join(cycles)}"] if cycles else []))
