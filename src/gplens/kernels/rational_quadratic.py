"""The rational quadratic kernel."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from gplens.kernels.stationary import Stationary
from gplens.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class RationalQuadratic(Stationary):
    """k = (1 + r2 / (2 alpha))^-alpha;  dk/dr2 = -1/2 (1 + r2 / (2 alpha))^(-alpha - 1)  (4.5d)."""

    alpha: Float[Tensor, ""]

    def profile(self, r2: Batch) -> Batch:
        """(1 + r2 / (2 alpha))^-alpha."""
        return (1 + r2 / (2 * self.alpha)) ** -self.alpha

    def slope(self, r2: Batch) -> Batch:
        """-1/2 (1 + r2 / (2 alpha))^(-alpha - 1)."""
        return -((1 + r2 / (2 * self.alpha)) ** (-self.alpha - 1)) / 2

    def bend(self, r2: Batch) -> Batch:
        """(1 + 1/alpha) r2 (1 + r2 / (2 alpha))^(-alpha - 2)."""
        return (1 + 1 / self.alpha) * r2 * (1 + r2 / (2 * self.alpha)) ** (-self.alpha - 2)
