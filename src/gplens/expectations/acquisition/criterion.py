"""The interface of an acquisition function: psi of the moments of independent outcomes, and its simplest members."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

Outcomes = Float[Tensor, "o *n"]
"""Means or variances of o independent outcomes."""


class Partials(NamedTuple):
    """psi and its partial derivatives."""

    value: Float[Tensor, "*n"]
    by_m: Outcomes
    by_v: Outcomes | None
    """None if psi does not depend on the variances."""


class Criterion(ABC):
    """psi(m, v) of the means and variances of o independent outcomes, elementwise over all other axes.

    Variances are above zero: an `Acquisition` raises smaller ones to the lower bound of its host.
    """

    @property
    def logarithmic(self) -> bool:
        """Whether psi is a logarithm, so that draws of hyper-parameters are averaged before it is taken  (11.8)."""
        return False

    @property
    def needs_variance(self) -> bool:
        """Whether psi depends on the variances."""
        return True

    @property
    def constraints(self) -> tuple[int, ...]:
        """The outcomes that are constraints. Each has one channel, for its mean and variance together."""
        return ()

    @property
    def samples(self) -> int:
        """Numbers that are held for each node, in addition to the outcomes."""
        return 0

    @abstractmethod
    def partials(self, m: Outcomes, v: Outcomes) -> Partials:
        """psi, psi_m and psi_v."""

    def crossings(self, m: Outcomes, v: Outcomes) -> Float[Tensor, "r *n"] | None:
        """Functions of the moments: psi has a kink where one of them crosses one of its `thresholds`.

        None if psi is smooth.
        """
        return None

    @property
    def thresholds(self) -> tuple[Float[Tensor, " k"], ...]:
        """The thresholds of each function, in ascending order."""
        return ()


@final
@dataclass(frozen=True)
class MeanAndDeviation(Criterion):
    """psi = a m + b sqrt(v)  (11.3): the posterior mean and deviation, confidence bounds, and samples at q = 1."""

    mean: float
    """a."""
    deviation: float = 0.0
    """b."""
    offset: float = 0.0
    """A constant, which does not change the derivatives."""

    @property
    def needs_variance(self) -> bool:
        return self.deviation != 0

    def partials(self, m: Outcomes, v: Outcomes) -> Partials:
        by_m = torch.full_like(m, self.mean)
        if self.deviation == 0:
            return Partials(self.mean * m[0] + self.offset, by_m, None)
        sd = v.sqrt()
        value = self.mean * m[0] + self.deviation * sd[0] + self.offset
        return Partials(value, by_m, self.deviation / (2 * sd))  # (11.3)


@final
@dataclass(frozen=True)
class Exponential(Criterion):
    """psi = e^l of a logarithmic criterion l: its partial derivatives are those of l times psi."""

    logarithm: Criterion

    @property
    def constraints(self) -> tuple[int, ...]:
        return self.logarithm.constraints

    def partials(self, m: Outcomes, v: Outcomes) -> Partials:
        value, by_m, by_v = self.logarithm.partials(m, v)
        value = value.exp()
        return Partials(value, value * by_m, None if by_v is None else value * by_v)
