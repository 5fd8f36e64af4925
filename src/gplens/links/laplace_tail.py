"""The tail of a Laplace observation: P(y > t | f), whose second derivative jumps at f = t."""

from dataclasses import dataclass
from math import isfinite
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link, Moments, PairMoments
from gplens.expectations.normal import cdf
from gplens.lines.shapes import Batch
from gplens.processes.process import check_marginal


@final
@dataclass(frozen=True)
class LaplaceTail(Link):
    """g = P(y > shift), y ~ Laplace(f, scale).  With a = shift - m, s = sqrt(v), b = scale  (2.12):

        p = e^(s^2/2b^2 - a/b) Phi(a/s - s/b),    n = e^(s^2/2b^2 + a/b) Phi(-a/s - s/b),
        E g = Phi(-a/s) + (p - n)/2,    E g' = (p + n)/(2b),    E g'' = (p - n)/(2b^2).

    Exact for v >= 0; E g'' has a jump in m at m = shift where v = 0.

    Raises:
        ValueError: if the shift is not finite, or the scale is not above zero.

    Example:
        >>> link = gplens.links.LaplaceTail(shift=0.0, scale=1.0)
        >>> round(link.moments(torch.zeros(1).double(), torch.ones(1).double()).value.item(), 6)
        0.5
    """

    shift: float | int
    """t."""
    scale: float
    """b > 0."""

    def __post_init__(self) -> None:
        if not (isfinite(self.shift) and isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"LaplaceTail: expected a finite shift and scale > 0, got {self.shift} and {self.scale}.")

    has_pair_moments = False
    """The second derivative jumps at the shift, so that the third is not a function."""

    def __call__(self, f: Batch) -> Batch:
        """1 - cdf of a Laplace variable."""
        a = (self.shift - f) / self.scale
        return torch.where(a > 0, torch.exp(-a) / 2, 1 - torch.exp(a) / 2)

    def moments(self, m: Batch, v: Batch) -> Moments:
        """(2.12), with each exponential combined with the logarithm of its Phi, so that it does not overflow."""
        check_marginal(m, v)
        a, s, b = self.shift - m, v.sqrt(), self.scale
        z = torch.where(a == 0, 0.0, a / s)  # +-infinity where v = 0
        p = torch.exp(v / (2 * b**2) - a / b + torch.special.log_ndtr(z - s / b))
        n = torch.exp(v / (2 * b**2) + a / b + torch.special.log_ndtr(-z - s / b))
        return Moments(cdf(-z) + (p - n) / 2, (p + n) / (2 * b), (p - n) / (2 * b**2))

    def derivative(self, f: Batch) -> Batch:
        """The density of the observation at the shift."""
        return torch.exp(-(self.shift - f).abs() / self.scale) / (2 * self.scale)

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """Refused: g'' jumps at the shift, so that g''' is not a function."""
        raise NotImplementedError(
            f"expected a link with a continuous g'' for pair moments, got {self!r}, whose g'' jumps at f = "
            f"{self.shift}. Its deviations come from draws."
        )
