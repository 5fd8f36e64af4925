"""Ratios of times measured in one run: the two sides take turns, so that a busy machine disturbs both."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple


class Times(NamedTuple):
    """Seconds of one run of a function."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Ratio:
    """How many times longer `theirs` takes than `ours`: the median over repeats, and the smallest and largest."""

    ratios: list[float]
    cpu_ratios: list[float]
    ours: Times
    theirs: Times

    def __str__(self) -> str:
        return _spread(self.ratios)

    @property
    def detail(self) -> str:
        """Times, and the same ratio in CPU time, which other programs on the machine disturb less."""
        ours, theirs = (f"{_shown(side.wall)} ({_shown(side.cpu)} of CPU)" for side in (self.ours, self.theirs))
        return f"ours {ours}, theirs {theirs}; in CPU time {_spread(self.cpu_ratios)}"


TURN = 0.5
"""Seconds that a turn takes at the least: what is faster runs again until then, and counts with its mean."""


def ratio(ours: Callable[[], object], theirs: Callable[[], object], repeats: int = 5) -> Ratio:
    """Interleaved turns after one warm-up of each."""
    ours(), theirs()
    return ratio_of_turns(lambda: turn(ours), lambda: turn(theirs), repeats)


def ratio_of_turns(ours: Callable[[], Times], theirs: Callable[[], Times], repeats: int) -> Ratio:
    """The same for functions that measure themselves."""
    pairs = [(ours(), theirs()) for _ in range(repeats)]
    walls, cpus = ([slow[clock] / fast[clock] for fast, slow in pairs] for clock in (0, 1))
    ours_and_theirs = (Times(*map(median, zip(*side, strict=True))) for side in zip(*pairs, strict=True))
    return Ratio(walls, cpus, *ours_and_theirs)


def turn(function: Callable[[], object]) -> Times:
    """Mean times over as many runs as fit into a turn."""
    wall, cpu, runs = perf_counter(), process_time(), 0
    while runs == 0 or perf_counter() - wall < TURN:
        function()
        runs += 1
    return Times((perf_counter() - wall) / runs, (process_time() - cpu) / runs)


def _spread(ratios: list[float]) -> str:
    return f"{median(ratios):.3g}x ({min(ratios):.3g} to {max(ratios):.3g})"


def _shown(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"
