"""Ratios of times measured in one run: the two sides take turns, so that a busy machine disturbs both."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter


@dataclass(frozen=True)
class Ratio:
    """How many times longer `theirs` takes than `ours`: the median over repeats, and the smallest and largest."""

    median: float
    low: float
    high: float
    ours: float
    theirs: float

    def __str__(self) -> str:
        return f"{self.median:.3g}x ({self.low:.3g} to {self.high:.3g})"


TURN = 0.5
"""Seconds that a turn takes at the least: what is faster runs again until then, and counts with its mean."""


def ratio(ours: Callable[[], object], theirs: Callable[[], object], repeats: int = 5) -> Ratio:
    """Interleaved turns after one warm-up of each."""
    ours(), theirs()
    pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(repeats)]
    ratios = [slow / fast for fast, slow in pairs]
    return Ratio(median(ratios), min(ratios), max(ratios), *(median(side) for side in zip(*pairs, strict=True)))


def _seconds(function: Callable[[], object]) -> float:
    start, runs = perf_counter(), 0
    while runs == 0 or perf_counter() - start < TURN:
        function()
        runs += 1
    return (perf_counter() - start) / runs
