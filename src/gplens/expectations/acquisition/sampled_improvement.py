"""Acquisition functions that are averages over fixed base samples (MATH 11.9)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import log
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from gplens.expectations.acquisition.criterion import Criterion, Outcomes, Partials
from gplens.lines.shapes import Batch

FAT = 0.1
"""The weight of the Cauchy density in BoTorch's fat softplus."""
HELD = 6
"""The number of temporaries for each sample and node."""
GRADES = 24
"""Powers of four, in units of tau, at which paths are cut where the best sample loses its improvement. The logarithm of
its excess y has the derivative 1/y, up to 1/tau, and a panel between y and 4 y takes the same nodes for every y."""
UNDERFLOW = -35.0
"""Below this x, log(1 + e^x) equals e^x to rounding."""


class Utility(ABC):
    """The utility h(y) of a sample, with y its objective minus the best observed one."""

    logarithmic: bool = False
    """Whether psi is the logarithm of the average; `partials` are then those of log h."""

    @property
    def width(self) -> float:
        """The distance from y = 0 over which h bends."""
        return 0.0

    @abstractmethod
    def partials(self, y: Batch) -> tuple[Batch, Batch]:
        """h and h', or log h and its derivative."""


@final
@dataclass(frozen=True)
class Excess(Utility):
    """h = max(y, 0)."""

    def partials(self, y: Batch) -> tuple[Batch, Batch]:
        return y.clamp(min=0), (y > 0).to(y.dtype)


@final
@dataclass(frozen=True)
class SoftStep(Utility):
    """h = 1 / (1 + e^(-y/tau))."""

    tau: float

    def partials(self, y: Batch) -> tuple[Batch, Batch]:
        h = torch.sigmoid(y / self.tau)
        return h, h * torch.sigmoid(-y / self.tau) / self.tau


@final
@dataclass(frozen=True)
class LogSoftExcess(Utility):
    """log h,  h = tau softplus(y/tau), or with a fat tail  tau (softplus(y/tau) + 0.1/(1 + (y/tau)^2))."""

    tau: float
    fat: bool
    logarithmic = True

    @property
    def width(self) -> float:
        return self.tau

    def partials(self, y: Batch) -> tuple[Batch, Batch]:
        x = y / self.tau
        if self.fat:
            tail = 1 / (1 + x**2)
            h = softplus(x) + FAT * tail
            return h.log() + log(self.tau), (torch.sigmoid(x) - 2 * FAT * x * tail**2) / (h * self.tau)
        near = x.clamp(min=UNDERFLOW)
        h, far = softplus(near), x < UNDERFLOW
        slope = torch.where(far, 1.0, torch.sigmoid(near) / h)
        return torch.where(far, x, h.log()) + log(self.tau), slope / self.tau


@final
@dataclass(frozen=True, eq=False)
class SampledImprovement(Criterion):
    """psi = 1/N sum_n h(y_n),  y_n = sum_i w_i (m_i + sd_i z_ni) - best, or the logarithm of the average  (11.9)."""

    z: Float[Tensor, "samples o"]
    """Base samples, of a standard normal distribution."""
    weights: Float[Tensor, " o"]
    """w, of a linear objective."""
    best: float
    utility: Utility

    @property
    def logarithmic(self) -> bool:
        return self.utility.logarithmic

    @property
    def samples(self) -> int:
        return HELD * self.z.numel()

    def partials(self, m: Outcomes, v: Outcomes) -> Partials:
        sd = v.sqrt()
        h, slope = self.utility.partials(self._objectives(m, sd))
        if self.logarithmic:
            value = torch.logsumexp(h, 0) - log(len(h))
            weighted = slope * torch.softmax(h, 0)
        else:
            value, weighted = h.mean(0), slope / len(h)
        by_m = _along_outcomes(self.weights, m) * weighted.sum(0)
        by_v = _along_outcomes(self.weights, m) / (2 * sd) * torch.tensordot(self.z.T, weighted, dims=1)
        return Partials(value, by_m, by_v)  # (11.9)

    def _objectives(self, m: Outcomes, sd: Outcomes) -> Float[Tensor, "samples *n"]:
        """The objective y_n of each sample n."""
        mean = torch.tensordot(self.weights, m, dims=1)
        return mean + torch.tensordot(self.z * self.weights, sd, dims=1) - self.best

    def crossings(self, m: Outcomes, v: Outcomes) -> Float[Tensor, "r *n"]:
        """The z at which y = 0 for a single outcome, else every y_n; for a logarithm, also the largest y_n."""
        y = self._objectives(m, v.sqrt())
        each = (self.best / self.weights[0] - m) / v.sqrt() if len(m) == 1 else y
        return torch.cat([each, y.amax(0, keepdim=True)]) if self.logarithmic else each

    @property
    def thresholds(self) -> tuple[Float[Tensor, " k"], ...]:
        single = self.z.shape[1] == 1
        each = (self.z[:, 0].unique(),) if single else (self.z.new_zeros(1),) * len(self.z)
        if not self.logarithmic:
            return each
        return (*each, graded_thresholds(self.utility.width))


def graded_thresholds(width: float) -> Float[Tensor, " k"]:
    """The values of the largest y_n at which paths are cut  (11.9)."""
    grades = width * 4.0 ** torch.arange(GRADES, dtype=torch.float64)
    return torch.cat([-grades.flip(0), grades])


def _along_outcomes(weights: Float[Tensor, " o"], like: Outcomes) -> Float[Tensor, "o *ones"]:
    return weights.reshape(-1, *(1,) * (like.ndim - 1))
