"""The Gaussian cdf: probit classification, and P(y > t) of a Gaussian likelihood."""

from dataclasses import dataclass
from math import isfinite, pi
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.links.joint import check_joint
from gplens.links.link import Link, Moments, PairMoments
from gplens.links.marginal import check_marginal
from gplens.shapes import Batch


@final
@dataclass(frozen=True)
class Probit(Link):
    """g = Phi((f - shift)/sqrt(noise)).  With a = m - shift, s2 = noise + v  (2.5):

        E g = Phi(a/sqrt(s2)),  E g' = N(a; 0, s2),  E g'' = -(a/s2) E g'.

    Exact for v >= 0. With shift t and the noise of a Gaussian likelihood, g = P(y > t | f).
    """

    shift: float = 0.0
    """t, where g = 1/2."""

    noise: float = 1.0
    """A variance, > 0."""

    def __post_init__(self) -> None:
        if not (isfinite(self.shift) and isfinite(self.noise) and self.noise > 0):
            raise ValueError(
                f"Probit got shift={self.shift}, noise={self.noise}; it wants both finite and noise > 0, "
                "the variance of the observation. Without noise P(f > t) is a step, which has no slope."
            )

    def __call__(self, f: Batch) -> Batch:
        """g = Phi((f - shift)/sqrt(noise))."""
        return torch.special.ndtr((f - self.shift) / self.noise**0.5)

    def moments(self, m: Batch, v: Batch) -> Moments:
        """Phi(a/s), N(a; 0, s2), -(a/s2) N(a; 0, s2)  (2.5)."""
        check_marginal(m, v)
        a, s2 = m - self.shift, self.noise + v
        u = a / torch.sqrt(s2)
        slope = torch.exp(-(u**2) / 2) / torch.sqrt(2 * pi * s2)  # (2.5b)
        return Moments(torch.special.ndtr(u), slope, -a / s2 * slope)  # (2.5a), (2.5c)

    def derivative(self, f: Batch) -> Batch:
        """N(f; shift, noise)."""
        return torch.exp(-((f - self.shift) ** 2) / (2 * self.noise)) / (2 * pi * self.noise) ** 0.5

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """N2(a, a'; 0, S), S = [[noise + v, c], [c, noise + v']], and its derivatives in a and a'  (5.8)."""
        check_joint(m, v, c)
        return probit_pairs(m - self.shift, v, c, self.noise, self.noise)


def probit_pairs(
    a: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"], noise: float, other: float
) -> PairMoments:
    """(5.8) for two probits: one of `noise` at the first node of a pair, one of `other` at the second."""
    a1, a2 = a[:, :, None], a[:, None, :]
    v1, v2 = v[:, :, None], v[:, None, :]
    s2 = other + v2
    gap = torch.clamp(v1 * v2 - c**2, min=0)  # below zero by rounding alone: check_joint
    det = gap + noise * v2 + other * v1 + noise * other
    rest = a1 - c / s2 * a2  # a less its mean given a', of variance det/s2
    u1 = rest * s2 / det
    u2 = (a2 - c * u1) / s2  # u = S^-1 (a, a')
    E11 = torch.exp(-(a2**2 / s2 + rest * u1) / 2) / (2 * pi * torch.sqrt(det))  # (5.8a)
    E13 = (u2**2 - (noise + v1) / det) * E11  # (5.8c)
    return PairMoments(E11, -u2 * E11, E13, (u1 * u2 + c / det) * E11)  # (5.8b), (5.8d)
