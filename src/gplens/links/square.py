"""The square: intensities and variances modelled as the square of a Gaussian process."""

from dataclasses import dataclass
from typing import final

import torch

from gplens.links.link import Link, Moments
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
