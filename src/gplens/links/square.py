"""The square: intensities and variances modelled as the square of a Gaussian process."""

from dataclasses import dataclass
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
class Square(Link):
    """g = f^2:  E g = m^2 + v,  E g' = 2m,  E g'' = 2  (2.3). Exact for v >= 0."""

    def __call__(self, f: Batch) -> Batch:
        """g = f^2."""
        return f**2

    def moments(self, m: Batch, v: Batch) -> Moments:
        """(m^2 + v, 2m, 2)  (2.3)."""
        check_marginal(m, v)
        return Moments(m**2 + v, 2 * m, torch.full_like(m, 2))  # (2.3)

    def derivative(self, f: Batch) -> Batch:
        """2f."""
        return 2 * f

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """(4(m m' + c), 4m, 0, 4)  (5.6)."""
        check_joint(m, v, c)
        E11 = 4 * (m[:, :, None] * m[:, None, :] + c)
        return PairMoments(E11, (4 * m)[:, :, None].expand_as(c), torch.zeros_like(c), torch.full_like(c, 4))  # (5.6)
