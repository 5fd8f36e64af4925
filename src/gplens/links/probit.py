"""Gaussian cdfs: probit classification, P(y > t) of a Gaussian likelihood, and weighted sums of them."""

from dataclasses import dataclass
from math import isfinite, pi
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link, Moments, PairMoments, beside_a_step
from gplens.expectations.normal import cdf
from gplens.lines.shapes import Batch
from gplens.links.moments.checks import check_joint
from gplens.processes.process import check_marginal


@final
@dataclass(frozen=True)
class Probit(Link):
    """g = Phi((f - shift)/sqrt(noise)).  With a = m - shift, s2 = noise + v  (2.5):

        E g = Phi(a/sqrt(s2)),  E g' = N(a; 0, s2),  E g'' = -(a/s2) E g'.

    Exact for v >= 0. With shift t and the noise of a Gaussian likelihood, g = P(y > t | f).

    Raises:
        ValueError: if the shift is not finite, or the noise is not above zero.

    Example:
        >>> gplens.links.Probit().moments(torch.zeros(1).double(), torch.ones(1).double()).value.item()
        0.5
    """

    shift: float = 0.0
    """t, where g = 1/2."""

    noise: float = 1.0
    """A variance, > 0."""

    def __post_init__(self) -> None:
        if not (isfinite(self.shift) and isfinite(self.noise) and self.noise > 0):
            raise ValueError(
                f"Probit: expected a finite shift and a finite noise variance > 0, got shift={self.shift}, "
                f"noise={self.noise}. Without noise P(f > t) is a step, which has no slope."
            )

    def __call__(self, f: Batch) -> Batch:
        """g = Phi((f - shift)/sqrt(noise))."""
        return cdf((f - self.shift) / self.noise**0.5)

    def moments(self, m: Batch, v: Batch) -> Moments:
        """Phi(a/s), N(a; 0, s2), -(a/s2) N(a; 0, s2)  (2.5)."""
        check_marginal(m, v)
        a, s2 = m - self.shift, self.noise + v
        u = a / torch.sqrt(s2)
        slope = torch.exp(-(u**2) / 2) / torch.sqrt(2 * pi * s2)  # (2.5b)
        return Moments(cdf(u), slope, -a / s2 * slope)  # (2.5a), (2.5c)

    def resolution(self, m: Batch, v: Batch) -> Batch:
        return beside_a_step(m - self.shift, self.noise + v)

    def derivative(self, f: Batch) -> Batch:
        """N(f; shift, noise)."""
        return torch.exp(-((f - self.shift) ** 2) / (2 * self.noise)) / (2 * pi * self.noise) ** 0.5

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """N2(a, a'; 0, S), S = [[noise + v, c], [c, noise + v']], and its derivatives in a and a'  (5.8)."""
        return self.scaled_pair_moments(m, v, c, m.new_ones(len(m)))

    def scaled_pair_moments(
        self,
        m: Float[Tensor, "b q"],
        v: Float[Tensor, "b q"],
        c: Float[Tensor, "b q q"],
        unit: Float[Tensor, " b"],
    ) -> PairMoments:
        check_joint(m, v, c)
        return probit_pairs(m - self.shift, v, c, self.noise, self.noise, unit)


def probit_pairs(
    a: Float[Tensor, "b q"],
    v: Float[Tensor, "b q"],
    c: Float[Tensor, "b q q"],
    noise: float,
    other: float,
    unit: Float[Tensor, " b"],
) -> PairMoments:
    """(5.8)/unit^2 for two probits: one of `noise` at the first node of a pair, one of `other` at the second."""
    a1, a2 = a[:, :, None], a[:, None, :]
    v1, v2 = v[:, :, None], v[:, None, :]
    s2 = other + v2
    gap = torch.clamp(v1 * v2 - c**2, min=0)  # below zero by rounding alone: check_joint
    det = gap + noise * v2 + other * v1 + noise * other
    rest = a1 - c / s2 * a2  # a less its mean given a', of variance det/s2
    u1 = rest * s2 / det
    u2 = (a2 - c * u1) / s2  # u = S^-1 (a, a')
    exponent = -(a2**2 / s2 + rest * u1) / 2 - 2 * torch.log(unit)[:, None, None]
    E11 = torch.exp(exponent) / (2 * pi * torch.sqrt(det))  # (5.8a)
    E13 = (u2**2 - (noise + v1) / det) * E11  # (5.8c)
    return PairMoments(E11, -u2 * E11, E13, (u1 * u2 + c / det) * E11)  # (5.8b), (5.8d)


@final
@dataclass(frozen=True)
class ProbitMixture(Link):
    """g = sum_i w_i Phi(f/sqrt(noise_i)):  its moments are the weighted ones of (2.5)  (2.13).

    Exact for v >= 0. Weights may be negative, and large: rounding is 1e-16 times the sum of their sizes, squared in the
    moments of pairs.

    Raises:
        ValueError: if there is not one finite weight for each noise, or a noise is not above zero.

    Example:
        >>> link = gplens.links.ProbitMixture(weights=(0.5, 0.5), noises=(1.0, 4.0))
        >>> link.moments(torch.zeros(1).double(), torch.ones(1).double()).value.item()
        0.5
    """

    weights: tuple[float, ...]
    noises: tuple[float, ...]
    """A variance for each weight, > 0."""

    def __post_init__(self) -> None:
        if not self.weights or len(self.weights) != len(self.noises) or not all(map(isfinite, self.weights)):
            raise ValueError(
                f"ProbitMixture: expected a finite weight for each noise, got weights {self.weights} and noises "
                f"{self.noises}."
            )
        _ = self._parts  # a Probit checks its noise

    @property
    def _parts(self) -> tuple[Probit, ...]:
        return tuple(Probit(noise=noise) for noise in self.noises)

    def __call__(self, f: Batch) -> Batch:
        """sum_i w_i Phi(f/sqrt(noise_i))."""
        return self._weighted([part(f) for part in self._parts])

    def moments(self, m: Batch, v: Batch) -> Moments:
        """The weighted moments of the parts  (2.13)."""
        each = [part.moments(m, v) for part in self._parts]
        return Moments(*(self._weighted(list(values)) for values in zip(*each, strict=True)))

    def resolution(self, m: Batch, v: Batch) -> Batch:
        return beside_a_step(m, min(self.noises) + v)

    def derivative(self, f: Batch) -> Batch:
        """sum_i w_i N(f; 0, noise_i)."""
        return self._weighted([part.derivative(f) for part in self._parts])

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """sum_ij w_i w_j (5.8), with the noise of part i at the first node and that of part j at the second."""
        return self.scaled_pair_moments(m, v, c, m.new_ones(len(m)))

    def scaled_pair_moments(
        self,
        m: Float[Tensor, "b q"],
        v: Float[Tensor, "b q"],
        c: Float[Tensor, "b q q"],
        unit: Float[Tensor, " b"],
    ) -> PairMoments:
        check_joint(m, v, c)
        rows = [[probit_pairs(m, v, c, noise, other, unit) for other in self.noises] for noise in self.noises]
        return PairMoments(
            *(self._weighted([self._weighted([pair[e] for pair in row]) for row in rows]) for e in range(4))
        )

    def _weighted(self, values: list[Tensor]) -> Tensor:
        total = self.weights[0] * values[0]
        for weight, value in zip(self.weights[1:], values[1:], strict=True):
            total = total + weight * value
        return total
