"""A weighted sum of Gaussian cdfs: the logistic function as scikit-learn averages it."""

from dataclasses import dataclass
from math import isfinite
from typing import final

from jaxtyping import Float
from torch import Tensor

from gplens.links.joint import check_joint
from gplens.links.link import Link, Moments, PairMoments
from gplens.links.probit import Probit, probit_pairs
from gplens.shapes import Batch


@final
@dataclass(frozen=True)
class ProbitMixture(Link):
    """g = sum_i w_i Phi(f/sqrt(noise_i)):  its moments are the weighted ones of (2.5)  (2.13).

    Exact for v >= 0. Weights may be negative, and large: rounding is 1e-16 times the sum of their sizes, squared in the
    moments of pairs.
    """

    weights: tuple[float, ...]
    noises: tuple[float, ...]
    """A variance for each weight, > 0."""

    def __post_init__(self) -> None:
        if not self.weights or len(self.weights) != len(self.noises) or not all(map(isfinite, self.weights)):
            raise ValueError(
                f"ProbitMixture got weights {self.weights} and noises {self.noises}; it wants a finite weight for each."
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

    def derivative(self, f: Batch) -> Batch:
        """sum_i w_i N(f; 0, noise_i)."""
        return self._weighted([part.derivative(f) for part in self._parts])

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """sum_ij w_i w_j (5.8), with the noise of part i at the first node and that of part j at the second."""
        check_joint(m, v, c)
        rows = [[probit_pairs(m, v, c, noise, other) for other in self.noises] for noise in self.noises]
        return PairMoments(
            *(self._weighted([self._weighted([pair[e] for pair in row]) for row in rows]) for e in range(4))
        )

    def _weighted(self, values: list[Tensor]) -> Tensor:
        total = self.weights[0] * values[0]
        for weight, value in zip(self.weights[1:], values[1:], strict=True):
            total = total + weight * value
        return total
