"""Numbers with a period, and times of day."""

from dataclasses import dataclass
from math import inf, pi
from typing import ClassVar, final

import numpy as np

from gplens.adapters.numbers import as_float
from gplens.columns.kind import Numbers
from gplens.columns.scalar import Scalar

DAY = 86400.0
"""Seconds."""
SHORTER_ARC = "angle (the shorter way round)"
"""The coordinate in which paths are straight."""


def circle(turns: Numbers) -> Numbers:
    """(cos, sin) of numbers of turns."""
    return np.column_stack([np.cos(2 * pi * turns), np.sin(2 * pi * turns)])


def turns_of(values: Numbers) -> Numbers:
    """The directions of points from the centre, as numbers of turns in [0, 1)."""
    turns = np.arctan2(values[:, 1], values[:, 0]) / (2 * pi)
    return np.where(turns < -1e-12, turns + 1, np.maximum(turns, 0.0))


@final
@dataclass(frozen=True)
class Cyclic(Scalar):
    """(cos, sin) of 2 pi x / period, so that 23 h is as near to 0 h as 1 h is.

    Raises:
        ValueError: if the period is not a finite number above zero.

    Example:
        >>> gplens.columns.Cyclic(24)
        Cyclic(period=24)
    """

    period: float | int
    families: ClassVar[tuple[str, ...]] = ("number", "duration")
    straight: ClassVar[str | None] = SHORTER_ARC

    def __post_init__(self) -> None:
        period = as_float(self.period)
        if period is None or not 0 < period < inf:
            raise ValueError(f"Cyclic: expected a finite period above zero, got {self.period!r}; write Cyclic(24).")

    def inputs(self, name: str) -> tuple[str, ...]:
        return (f"cos({name})", f"sin({name})")

    def sharing(self) -> tuple[tuple[int, ...], ...]:
        return ((0, 1),)

    def arcs(self) -> tuple[tuple[int, int], ...]:
        return ((0, 1),)

    def forward(self, x: Numbers) -> Numbers:
        return circle(x / self.period)

    def backward(self, values: Numbers) -> Numbers:
        return turns_of(values) * self.period

    @property
    def description(self) -> str:
        return f"cos and sin with period {self.period:g}"


@final
@dataclass(frozen=True)
class Time(Scalar):
    """(cos, sin) of the time of day, the default for times.

    Example:
        >>> gplens.columns.Time()
        Time()
    """

    families: ClassVar[tuple[str, ...]] = ("time",)
    straight: ClassVar[str | None] = SHORTER_ARC

    def inputs(self, name: str) -> tuple[str, ...]:
        return (f"cos({name})", f"sin({name})")

    def sharing(self) -> tuple[tuple[int, ...], ...]:
        return ((0, 1),)

    def arcs(self) -> tuple[tuple[int, int], ...]:
        return ((0, 1),)

    def forward(self, x: Numbers) -> Numbers:
        return circle(x / DAY)

    def backward(self, values: Numbers) -> Numbers:
        return turns_of(values) * DAY

    @property
    def description(self) -> str:
        return "cos and sin of the time of day"
