"""A line of a table of measurements, and what its columns are made from."""

import cProfile
import pstats
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from timing import Ratio

HEADER = "| workload | against | measured | wanted | our error | their error |\n|---|---|---|---|---|---|"


@dataclass(frozen=True)
class Row:
    """A line of the table; `detail` is printed beside it and not kept."""

    workload: str
    against: str
    measured: str
    wanted: str
    ours: float | None = None
    theirs: float | None = None
    detail: str = ""

    def __str__(self) -> str:
        errors = ["-" if number is None else f"{number:.1e}" for number in (self.ours, self.theirs)]
        return "| " + " | ".join([self.workload, self.against, self.measured, self.wanted, *errors]) + " |"


def faster(
    workload: str, against: str, measured: Ratio, wanted: str, ours: float | None = None, theirs: float | None = None
) -> Row:
    return Row(workload, against, f"{measured} faster", wanted, ours, theirs, measured.detail)


def slower(workload: str, against: str, measured: Ratio, wanted: str) -> Row:
    return Row(workload, against, f"{measured} slower", wanted, detail=measured.detail)


def error(values: Tensor, exact: Tensor) -> float:
    """The largest difference relative to the largest attribution."""
    return float((values - exact).abs().max() / exact.abs().max())


def calls(function: Callable[[], object]) -> int:
    """Calls of Python and built-in functions of a second run, as cProfile counts them."""
    function()
    profile = cProfile.Profile()
    profile.runcall(function)
    return pstats.Stats(profile).total_calls
