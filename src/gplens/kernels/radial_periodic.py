"""The periodic kernel of a distance, as scikit-learn's ExpSineSquared has it."""

from dataclasses import dataclass
from math import pi
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.stationary import Stationary
from gplens.line import Line
from gplens.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class RadialPeriodic(Stationary):
    """k = exp((cos 2 pi r - 1) / w^2) = exp(-2 sin^2(pi r) / w^2), r the distance in periods  (4.5h).

    dk/dr2 = -(2 pi^2 / w^2) sinc(2r) k, smooth at r = 0. Of one feature it is `Periodic`; of several it is not:
    that one is a product over the features, this one a function of the Euclidean distance. `lengthscale` is the period.
    """

    width: Float[Tensor, ""]
    """w: the lengthscale of one wave."""

    def profile(self, r2: Batch) -> Batch:
        """exp(-2 sin^2(pi r) / w^2)."""
        return torch.exp(-2 * torch.sin(pi * r2.sqrt()) ** 2 / self.width**2)

    def slope(self, r2: Batch) -> Batch:
        """-(2 pi^2 / w^2) sinc(2r) k."""
        return -self._rate() * torch.sinc(2 * r2.sqrt()) * self.profile(r2)

    def bend(self, r2: Batch) -> Batch:
        """With a = 2 pi^2 / w^2:  k (2a (sinc(2r) - cos 2 pi r) + 4 r2 (a sinc(2r))^2)."""
        r, a = r2.sqrt(), self._rate()
        sinc = torch.sinc(2 * r)
        return self.profile(r2) * (2 * a * (sinc - torch.cos(2 * pi * r)) + 4 * r2 * (a * sinc) ** 2)

    def _rate(self) -> Float[Tensor, ""]:
        return 2 * pi**2 / self.width**2

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """Half turns, each as long as its peak is narrow: 2 |d| / p max(1, 1/w)."""
        return 2 * super().length(line) * (1 / self.width).clamp(min=1)
