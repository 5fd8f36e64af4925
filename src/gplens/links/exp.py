"""The exponential link of counts and other positive quantities."""

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
class Exp(Link):
    """g = e^f:  E g = E g' = E g'' = exp(m + v/2)  (2.4). Exact for v >= 0 and m + v/2 < 709."""

    def __call__(self, f: Batch) -> Batch:
        """g = e^f."""
        return torch.exp(f)

    def moments(self, m: Batch, v: Batch) -> Moments:
        """exp(m + v/2), three times  (2.4)."""
        check_marginal(m, v)
        value = torch.exp(m + v / 2)  # (2.4)
        _check_overflow(value, m, v, "E exp(f)")
        return Moments(value, value, value)

    def derivative(self, f: Batch) -> Batch:
        """e^f."""
        return torch.exp(f)

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """exp(m + m' + (v + v' + 2c)/2), four times  (5.7)."""
        check_joint(m, v, c)
        half = m + v / 2
        E = torch.exp(half[:, :, None] + half[:, None, :] + c)  # (5.7)
        _check_overflow(E, m, v, "E exp(f + f')")
        return PairMoments(E, E, E, E)


def _check_overflow(value: Tensor, m: Tensor, v: Tensor, what: str) -> None:
    if bool(value.isinf().any()):
        i = int((m + v / 2).argmax())
        raise OverflowError(
            f"{what} is beyond float64 at m={float(m.flatten()[i]):.6g}, v={float(v.flatten()[i]):.6g}; an exponent "
            "below 709 was wanted. The model is far too unsure there, or was not fitted with an exp link."
        )
