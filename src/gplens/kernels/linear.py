"""The linear kernel."""

from dataclasses import dataclass
from typing import final

import torch

from gplens.kernels.dot_product import DotProduct
from gplens.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class Linear(DotProduct):
    """k = sum_k a_k x_k z_k."""

    def profile(self, s: Batch) -> Batch:
        """s."""
        return s

    def slope(self, s: Batch) -> Batch:
        """1."""
        return torch.ones_like(s)

    def bend(self, s: Batch) -> Batch:
        """0."""
        return torch.zeros_like(s)
