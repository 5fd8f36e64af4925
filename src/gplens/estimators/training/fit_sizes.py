"""Sizes that follow the budget: how many rows are fitted exactly, how many inducing points and rows a sparse fit takes.

They come from a model of the time of one evaluation with its gradient, not from a clock, so that the same budget gives
the same sizes on every machine. The constants are CPU seconds of float64 on one core of a 2024 server, for 8 and for 64
columns: 0.36 s for 2,000 rows exactly, 0.14 s for 15,000 rows and 128 inducing points, 0.23 s for 755 rows, ten classes
and 128 inducing points.
"""

from dataclasses import dataclass
from math import inf
from typing import Any, final

from gplens.adapters.numbers import as_float

NOMINAL = 60.0
"""Seconds that the sizes are planned for without a budget."""
SHARE = 0.5
"""The part of the budget that the largest fit may plan for; the rest is for smaller fits before it and for the end."""
EXACT_EVALUATIONS, SPARSE_EVALUATIONS = 25, 80
"""Evaluations that a fit needs: 10 to 20 of the evidence, 30 to 100 of a bound with inducing points that move."""
RUNGS = (128, 256, 512, 1024)
"""Numbers of inducing points that are tried one after the other."""
MOST_POINTS = 1024
"""The most inducing points of regression, unless the user gives a number: more make explanations slow."""
SOLVE = 1.5e-10
"""Seconds to compute q(u) of n rows and m inducing points, over n m^2."""
ROWS_PER_POINT = 100
"""Rows for each inducing point that q(u) is computed from, at least."""
FEWEST = 2000
"""The smallest number of rows from which hyperparameters are learnt, however small the budget."""
FIXED = 128
"""The number of inducing points if the user gives the steps of the training but not this number."""


def check_budget(budget: Any) -> float | None:
    """Seconds above zero, or None for no limit."""
    seconds = None if budget is None else as_float(budget)
    if budget is not None and (seconds is None or not 0 < seconds < inf):
        raise ValueError(f"budget must be a number of seconds above zero, or None, got budget={budget!r}.")
    return seconds


def most_exact_rows(budget: float | None) -> int:
    """The rows up to which the evidence is maximised exactly: 4.5e-11 n^3 seconds an evaluation."""
    seconds = SHARE * (NOMINAL if budget is None else budget) / EXACT_EVALUATIONS
    return int((seconds / 4.5e-11) ** (1 / 3))


@final
@dataclass(frozen=True)
class FitPlan:
    """The inducing points of each stage of a fit with moving hyperparameters, and the rows that it looks at."""

    rungs: tuple[int, ...]
    rows: int

    @staticmethod
    def of(rows: int, latents: int | None, points: int | None, budget: float | None) -> "FitPlan":
        """For a table of so many rows; `latents` is None for the collapsed bound of Gaussian noise."""
        seconds = SHARE * (NOMINAL if budget is None else budget) / SPARSE_EVALUATIONS
        if points is not None:
            return FitPlan((points,), min(rows, max(FEWEST, _affordable(points, latents, seconds))))
        wanted = min(rows, FEWEST)
        rungs = (RUNGS[0], *(m for m in RUNGS[1:] if _affordable(m, latents, seconds) >= wanted and m < rows))
        return FitPlan(rungs, min(rows, max(FEWEST, _affordable(rungs[-1], latents, seconds))))


@final
@dataclass(frozen=True)
class GaussianPlan:
    """For a sparse model with Gaussian noise: the rows whose evidence is maximised, and the most inducing points."""

    rows: int
    points: int
    used: int
    """The rows that q(u) is computed from: all of them, or, in very large tables, a random part."""

    @staticmethod
    def of(rows: int, points: int | None, budget: float | None) -> "GaussianPlan":
        """A third of the budget for the evidence of some rows, a quarter for q(u) of at least 100 rows for each point.

        Where the quarter is not enough for all rows, more points with fewer rows predict better than the reverse.
        """
        seconds = NOMINAL if budget is None else budget
        balanced = int((seconds / 4 / (SOLVE * ROWS_PER_POINT)) ** (1 / 3))
        affordable = max(balanced, int((seconds / 4 / (SOLVE * rows)) ** 0.5))
        most = max(FIXED, min(MOST_POINTS, affordable)) if points is None else points
        used = max(ROWS_PER_POINT * most, int(seconds / 4 / (SOLVE * most**2)))
        return GaussianPlan(min(rows, most_exact_rows(seconds / 3)), min(rows, most), min(rows, used))


def _affordable(m: int, latents: int | None, seconds: float) -> int:
    """The number of rows for which one evaluation takes the given number of seconds."""
    if latents is None:
        return int(max(0.0, seconds - 5e-10 * m**3) / (6e-8 * m + 1e-10 * m**2))
    return int(max(0.0, seconds - latents * 5e-9 * m**3) / (2.4e-7 * m * latents))
