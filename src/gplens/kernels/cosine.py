"""The cosine kernel of a distance."""

from dataclasses import dataclass
from math import pi
from typing import final

import torch

from gplens.kernels.stationary import Stationary
from gplens.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class Cosine(Stationary):
    """k = cos(pi r), r in units of the period;  dk/dr2 = -(pi^2/2) sin(pi r)/(pi r), smooth at r = 0  (4.5e)."""

    def profile(self, r2: Batch) -> Batch:
        """cos(pi r)."""
        return torch.cos(pi * r2.sqrt())

    def slope(self, r2: Batch) -> Batch:
        """-(pi^2/2) sinc(r)."""
        return -(pi**2 / 2) * torch.sinc(r2.sqrt())

    def bend(self, r2: Batch) -> Batch:
        """pi^2 (sinc(r) - cos(pi r))."""
        r = r2.sqrt()
        return pi**2 * (torch.sinc(r) - torch.cos(pi * r))
