"""Probabilities that outcomes lie between bounds, alone or with the expected improvement of another one (MATH 11.6)."""

from dataclasses import dataclass
from math import inf
from typing import final

import torch

from gplens.expectations.acquisition.criterion import Criterion, Outcomes, Partials
from gplens.expectations.acquisition.improvement import LogImprovement
from gplens.expectations.acquisition.normal_tails import density_over_cdf, log_cdf, log_density
from gplens.lines.shapes import Batch


@final
@dataclass(frozen=True)
class LogFeasibility(Criterion):
    """psi = sum_i log P(lower_i < f_i < upper_i), plus log EI of an objective if there is one  (11.6)."""

    bounds: tuple[tuple[int, float, float], ...]
    """An outcome with its lower and upper bound, which may be infinite."""
    objective: tuple[int, LogImprovement] | None = None
    """The outcome that is improved, and how."""

    @property
    def logarithmic(self) -> bool:
        return True

    @property
    def constraints(self) -> tuple[int, ...]:
        return tuple(outcome for outcome, _, _ in self.bounds)

    def partials(self, m: Outcomes, v: Outcomes) -> Partials:
        value, by_m, by_v = torch.zeros_like(m[0]), torch.zeros_like(m), torch.zeros_like(v)
        sd = v.sqrt()
        for i, lower, upper in self.bounds:
            a, b = (lower - m[i]) / sd[i], (upper - m[i]) / sd[i]
            log_probability, at_a, at_b = _between(a, b)
            value = value + log_probability
            by_m[i] = (at_a - at_b) / sd[i]
            by_v[i] = (_product(a, at_a) - _product(b, at_b)) / (2 * v[i])  # (11.6)
        if self.objective is not None:
            i, improvement = self.objective
            of_objective, slope, curvature = improvement.partials(m[i : i + 1], v[i : i + 1])
            assert curvature is not None
            value, by_m[i], by_v[i] = value + of_objective, slope[0], curvature[0]
        return Partials(value, by_m, by_v)


def _between(a: Batch, b: Batch) -> tuple[Batch, Batch, Batch]:
    """log P, phi(a)/P and phi(b)/P for P = Phi(b) - Phi(a), computed on the side where both tails are small."""
    if bool((a == -inf).all()):
        return log_cdf(b), torch.zeros_like(a), density_over_cdf(b)
    if bool((b == inf).all()):
        return log_cdf(-a), density_over_cdf(-a), torch.zeros_like(b)
    flipped = a + b > 0  # P is unchanged if (a, b) is replaced by (-b, -a), which is further to the left
    low, high = torch.where(flipped, -b, a), torch.where(flipped, -a, b)
    whole = log_cdf(high)
    log_probability = whole + torch.log(-torch.expm1(log_cdf(low) - whole))
    return log_probability, torch.exp(log_density(a) - log_probability), torch.exp(log_density(b) - log_probability)


def _product(edge: Batch, density: Batch) -> Batch:
    """edge times density, zero at an infinite edge."""
    return torch.where(edge.isinf(), 0.0, edge * density)
