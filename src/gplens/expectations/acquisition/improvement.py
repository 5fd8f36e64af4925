"""Logarithms of expected improvement and of the probability of improvement (MATH 11.4, 11.5)."""

from dataclasses import dataclass
from typing import final

from gplens.expectations.acquisition.criterion import Criterion, Outcomes, Partials
from gplens.expectations.acquisition.normal_tails import (
    density_over_cdf,
    log_cdf,
    log_improvement,
    over_improvement,
)


@final
@dataclass(frozen=True)
class LogImprovement(Criterion):
    """psi = log E max(s (f - best), 0) = log sd + log h(u),  u = s (m - best)/sd  (11.5).

    psi_m = s Phi/(sd h),  psi_v = phi/(2 v h).  Accurate to 1e-12 of itself for u from -1e8 on.
    """

    best: float
    sign: float = 1.0
    """s: 1 to maximise, -1 to minimise."""

    @property
    def logarithmic(self) -> bool:
        return True

    def partials(self, m: Outcomes, v: Outcomes) -> Partials:
        sd = v.sqrt()
        u = self.sign * (m - self.best) / sd
        cdf, density = over_improvement(u)
        value = log_improvement(u[0]) + sd[0].log()
        return Partials(value, self.sign * cdf / sd, density / (2 * v))  # (11.5)


@final
@dataclass(frozen=True)
class LogImprovementProbability(Criterion):
    """psi = log P(s f > s best) = log Phi(u),  psi_m = s phi/(sd Phi),  psi_v = -u phi/(2 v Phi)  (11.4)."""

    best: float
    sign: float = 1.0

    @property
    def logarithmic(self) -> bool:
        return True

    def partials(self, m: Outcomes, v: Outcomes) -> Partials:
        sd = v.sqrt()
        u = self.sign * (m - self.best) / sd
        ratio = density_over_cdf(u)
        return Partials(log_cdf(u[0]), self.sign * ratio / sd, -u * ratio / (2 * v))  # (11.4)
