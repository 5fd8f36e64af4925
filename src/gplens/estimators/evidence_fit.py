"""The kernel and the hyperparameters of regression, by the evidence of rows (6.1) times their prior (6.18)."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.fitting import Problem
from gplens.estimators.parameters import Design
from gplens.estimators.quasi_newton import start_of, structure_of
from gplens.estimators.training.ascent import ALL_STEPS, CONVERGED, Ascent, ascend
from gplens.estimators.training.climb import ITERATIONS, TOLERANCE
from gplens.estimators.training.evidence import log_evidence
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch
from gplens.estimators.training.regression_prior import limits, log_prior
from gplens.estimators.training.rows import SUBSET, generator_of
from gplens.estimators.weights import Weights

QUICK = 500
"""Rows by which the kernel is chosen, in about a second. A fit to more rows starts anew: from the lengthscales of few
rows, in which fine structure is not seen, it may not find shorter ones."""
SHARE, FEWEST = 4, 250
"""For more rows than QUICK the kernel is chosen by this part of them and at least so many, as small budgets ask for."""
AHEAD = 0.005
"""Nats per row by which a later kernel of the candidates has to be better."""


@final
@dataclass(frozen=True)
class EvidenceFit:
    """The design with its kernel, the constants of the fit, and where the ascent ended."""

    design: Design
    structure: Structure
    ascent: Ascent


def fit_evidence(
    design: Design, problem: Problem, rows: Float[Tensor, "n d"], count: int, jitter: float, quiet: float, watch: Watch
) -> EvidenceFit:
    """Maximise the evidence of a random part of `count` rows with the kernel that is best for `QUICK` of them.

    If the budget or Ctrl-C ends the fit early, the hyperparameters of the few rows are kept where they are better.
    """

    def part(size: int) -> tuple[Tensor, Tensor, Weights]:
        chosen = subset(design, len(rows), size)
        return rows[chosen], problem.y[chosen], None if problem.weights is None else problem.weights[chosen]

    def fit(design: Design, size: int) -> EvidenceFit:
        structure = structure_of(design, rows, jitter)
        start = start_of(design, problem, structure, noisy=True)
        return EvidenceFit(design, structure, maximise_evidence(start, structure, *part(size), watch, quiet))

    few = count if count <= QUICK else min(QUICK, max(FEWEST, count // SHARE))
    best, *others = [fit(replace(design, kernel=name, kernels=(name,)), few) for name in design.kernels]
    for other in others:
        best = other if other.ascent.value > best.ascent.value + AHEAD else best
    if few == count:
        return best
    ascent = fit(best.design, count).ascent
    if ascent.stopped not in (CONVERGED, ALL_STEPS):
        with torch.no_grad():
            value = float(log_evidence(best.ascent.best, best.structure, *part(count))) / count
        if value > ascent.value:
            ascent = replace(ascent, best=best.ascent.best, value=value)
    return replace(best, ascent=replace(ascent, steps=best.ascent.steps + ascent.steps))


def maximise_evidence(
    start: Hyperparameters,
    structure: Structure,
    rows: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    weights: Weights,
    watch: Watch,
    quiet: float,
) -> Ascent:
    """L-BFGS for the evidence of some rows, times the prior of the hyperparameters."""

    def objective(at: Hyperparameters) -> Float[Tensor, ""]:
        return (log_evidence(at, structure, rows, y, weights) + log_prior(at, structure)) / len(rows)

    bounds = limits(start, structure, quiet)
    return ascend(objective, start, bounds, iterations=ITERATIONS, tolerance=TOLERANCE, watch=watch)


def subset(design: Design, rows: int, count: int) -> Tensor:
    """A random part of the rows, in their order; smaller parts are parts of larger ones."""
    return torch.randperm(rows, generator=generator_of(design.seed, SUBSET))[:count].sort().values
