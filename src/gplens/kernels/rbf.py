"""The squared exponential kernel."""

from dataclasses import dataclass
from typing import final

import torch

from gplens.kernels.stationary import Stationary
from gplens.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class RBF(Stationary):
    """k = exp(-r2/2)  (4.5a)."""

    def profile(self, r2: Batch) -> Batch:
        """exp(-r2/2)."""
        return torch.exp(-r2 / 2)

    def slope(self, r2: Batch) -> Batch:
        """-exp(-r2/2) / 2."""
        return -torch.exp(-r2 / 2) / 2

    def jet(self, r2: Batch) -> tuple[Batch, Batch]:
        """One exponential for both."""
        h = torch.exp(-0.5 * r2)
        return h, -0.5 * h

    def bend(self, r2: Batch) -> Batch:
        """r2 exp(-r2/2)."""
        return r2 * torch.exp(-r2 / 2)
