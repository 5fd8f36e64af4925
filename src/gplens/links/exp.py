"""The exponential: Poisson and gamma rates, log-normal responses."""

from dataclasses import dataclass
from typing import final

import torch

from gplens.links.link import Link, Moments
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
        if bool(value.isinf().any()):
            i = int((m + v / 2).argmax())
            raise OverflowError(
                f"E exp(f) is beyond float64 at m={float(m.flatten()[i]):.6g}, v={float(v.flatten()[i]):.6g}; m + v/2 "
                "below 709 was wanted. The model is far too unsure there, or was not fitted with an exp link."
            )
        return Moments(value, value, value)
