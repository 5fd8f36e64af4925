"""The identity: explain the latent function itself."""

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
class Identity(Link):
    """g = f:  E g = m,  E g' = 1,  E g'' = 0  (2.2). Exact; v is not used and may be zero."""

    @property
    def needs_variance(self) -> bool:
        """False: no moment depends on v."""
        return False

    def __call__(self, f: Batch) -> Batch:
        """g = f."""
        return f

    def moments(self, m: Batch, v: Batch) -> Moments:
        """(m, 1, 0)  (2.2)."""
        check_marginal(m, v)
        return Moments(m, torch.ones_like(m), torch.zeros_like(m))  # (2.2)

    def derivative(self, f: Batch) -> Batch:
        """1."""
        return torch.ones_like(f)

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """(1, 0, 0, 0)  (5.5)."""
        check_joint(m, v, c)
        zero = torch.zeros_like(c)
        return PairMoments(torch.ones_like(c), zero, zero, zero)  # (5.5)
