"""Moments of outcomes from those of latent functions, as a host computes them: floors, logarithms, sums (MATH 11.2)."""

from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.expectations.acquisition.criterion import Outcomes

OfPsi = Float[Tensor, "p *n"]
"""Means or variances of the outcomes, or of their weighted sum, which psi is a function of."""


class EvaluatedMoments(NamedTuple):
    """Means and variances of outcomes, and the quantities that their derivatives need."""

    m: OfPsi
    v: OfPsi
    latent: tuple[Outcomes, Outcomes]
    """m and v of the latent functions, v not below its floor."""
    above: tuple[Bool[Tensor, "o *n"], Bool[Tensor, "p *n"]]
    """Whether the variances of latent functions and of outcomes are above their floors."""


@final
@dataclass(frozen=True, eq=False)
class OutcomeMoments:
    """(m, v) of latent functions -> (M, V) of outcomes:  v >= floor, exp of some, a weighted sum, V >= floor."""

    logarithmic: tuple[bool, ...]
    """Whether the latent function is the logarithm of each outcome."""
    smallest: float
    """The lower bound of the host for variances of latent functions."""
    smallest_outcome: float
    """The lower bound of the host for variances of outcomes."""
    weights: Float[Tensor, " o"] | None = None
    """The weights of a sum of the outcomes, which psi is then a function of; None if there is no sum."""
    offset: float = 0.0
    """The offset of the sum."""

    @property
    def needs_variance(self) -> bool:
        return any(self.logarithmic)

    def forward(self, m: Outcomes, v: Outcomes) -> EvaluatedMoments:
        """The moments, with v of a lognormal outcome in place of the normal one  (2.10a)."""
        s = v.clamp(min=self.smallest)
        M, V = m, s
        if any(self.logarithmic):
            mean, exponential = torch.exp(m + s / 2), self._mask(m)
            M, V = torch.where(exponential, mean, m), torch.where(exponential, mean**2 * torch.expm1(s), s)
        if self.weights is not None:
            w = self.weights.reshape(-1, *(1,) * (m.ndim - 1))
            M, V = (w * M).sum(0, keepdim=True) + self.offset, (w**2 * V).sum(0, keepdim=True)
        return EvaluatedMoments(
            M, V.clamp(min=self.smallest_outcome), (m, s), (v >= self.smallest, self.smallest_outcome <= V)
        )

    def backward(self, moments: EvaluatedMoments, by_M: OfPsi, by_V: OfPsi | None) -> tuple[Outcomes, Outcomes | None]:
        """psi_m and psi_v from psi_M and psi_V; psi does not change with a variance below its floor."""
        (m, s), (above, above_outcome) = moments.latent, moments.above
        by_V = None if by_V is None else by_V * above_outcome
        if self.weights is not None:
            w = self.weights.reshape(-1, *(1,) * (m.ndim - 1))
            by_M, by_V = w * by_M, None if by_V is None else w**2 * by_V
        if not any(self.logarithmic):
            return by_M, None if by_V is None else by_V * above
        by_V = torch.zeros_like(by_M) if by_V is None else by_V
        mean, exponential = torch.exp(m + s / 2), self._mask(m)
        V = mean**2 * torch.expm1(s)
        by_m = by_M * mean + by_V * 2 * V
        by_s = by_M * mean / 2 + by_V * (V + mean**2 * torch.exp(s))
        return torch.where(exponential, by_m, by_M), torch.where(exponential, by_s, by_V) * above

    def _mask(self, like: Outcomes) -> Bool[Tensor, "o *n"]:
        return torch.tensor(self.logarithmic).reshape(-1, *(1,) * (like.ndim - 1)).expand_as(like)
