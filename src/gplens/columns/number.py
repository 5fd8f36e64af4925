"""Numbers as they are, their logarithms, and booleans."""

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, final

import numpy as np

from gplens.adapters.numbers import as_float
from gplens.columns.kind import Numbers
from gplens.columns.scalar import Scalar


@final
@dataclass(frozen=True)
class Number(Scalar):
    """The number itself, the default for numbers and durations (in seconds).

    Example:
        >>> gplens.columns.Number()
        Number()
    """

    families: ClassVar[tuple[str, ...]] = ("number", "boolean", "duration")
    straight: ClassVar[str | None] = None

    def inputs(self, name: str) -> tuple[str, ...]:
        return (name,)

    def forward(self, x: Numbers) -> Numbers:
        return x[:, None]

    def backward(self, values: Numbers) -> Numbers:
        return values[:, 0]

    @property
    def description(self) -> str:
        return "as it is"


@final
@dataclass(frozen=True)
class Log(Scalar):
    """log(x + plus), for numbers above -plus that range over orders of magnitude: prices, areas, counts.

    Raises:
        ValueError: if `plus` is not a finite number.

    Example:
        >>> gplens.columns.Log(plus=1.0)
        Log(plus=1.0)
    """

    plus: float | int = 0.0
    families: ClassVar[tuple[str, ...]] = ("number", "duration")
    straight: ClassVar[str | None] = "logarithm"

    def __post_init__(self) -> None:
        plus = as_float(self.plus)
        if plus is None or not isfinite(plus):
            raise ValueError(f"Log: expected a finite number for plus=, got {self.plus!r}; write Log(plus=1).")

    def inputs(self, name: str) -> tuple[str, ...]:
        return (f"log({name})" if self.plus == 0 else f"log({name} + {self.plus:g})",)

    def check(self, x: Numbers) -> int | None:
        below = x + self.plus <= 0
        return int(below.argmax()) if bool(below.any()) else None

    def forward(self, x: Numbers) -> Numbers:
        return np.log(x + self.plus)[:, None]

    def backward(self, values: Numbers) -> Numbers:
        return np.exp(values[:, 0]) - self.plus

    @property
    def description(self) -> str:
        return "its logarithm" if self.plus == 0 else f"the logarithm of {self.plus:g} more"


@final
@dataclass(frozen=True)
class Boolean(Scalar):
    """0 for False and 1 for True, the default for booleans.

    Example:
        >>> gplens.columns.Boolean()
        Boolean()
    """

    families: ClassVar[tuple[str, ...]] = ("boolean", "number")
    straight: ClassVar[str | None] = None

    def inputs(self, name: str) -> tuple[str, ...]:
        return (name,)

    def check(self, x: Numbers) -> int | None:
        outside = (x < 0) | (x > 1)
        return int(outside.argmax()) if bool(outside.any()) else None

    def forward(self, x: Numbers) -> Numbers:
        return x[:, None]

    def backward(self, values: Numbers) -> Numbers:
        return values[:, 0]

    def text(self, x: float) -> str:
        return str(bool(x)) if x in (0, 1) else f"{100 * x:.3g} % True"

    @property
    def description(self) -> str:
        return "0 for False, 1 for True"
