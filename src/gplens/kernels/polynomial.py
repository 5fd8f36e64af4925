"""The polynomial kernel."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.dot_product import DotProduct
from gplens.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class Polynomial(DotProduct):
    """k = (s + offset)^power,  s = sum_k a_k x_k z_k,  power a whole number >= 1."""

    offset: Float[Tensor, ""]
    power: int

    def profile(self, s: Batch) -> Batch:
        """(s + offset)^power."""
        return (s + self.offset) ** self.power

    def slope(self, s: Batch) -> Batch:
        """power (s + offset)^(power - 1)."""
        return self.power * (s + self.offset) ** (self.power - 1)

    def bend(self, s: Batch) -> Batch:
        """power (power - 1) (s + offset)^(power - 2)."""
        if self.power == 1:
            return torch.zeros_like(s)
        return self.power * (self.power - 1) * (s + self.offset) ** (self.power - 2)
