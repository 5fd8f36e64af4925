"""The squared exponential kernel, and the rational quadratic, which is a mixture of them."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.stationary import Stationary
from gplens.lines.radial import ProfileJet
from gplens.lines.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class RBF(Stationary):
    """k = exp(-r2/2)  (4.5a).

    Raises:
        ValueError: if a lengthscale is not above zero.

    Example:
        >>> gplens.kernels.RBF(torch.ones(2).double())(torch.zeros(1, 2).double(), torch.zeros(1, 2).double()).item()
        1.0
    """

    def profile(self, r2: Batch) -> Batch:
        return torch.exp(-r2 / 2)

    def slope(self, r2: Batch) -> Batch:
        return -torch.exp(-r2 / 2) / 2

    def jet(self, r2: Batch, log_factor: Float[Tensor, "*any"], out: tuple[Batch, Batch]) -> ProfileJet:
        h = torch.add(log_factor, r2, alpha=-0.5, out=out[0]).exp_()
        return ProfileJet(h, h, -0.5)

    def bend(self, r2: Batch) -> Batch:
        return r2 * torch.exp(-r2 / 2)


@final
@dataclass(frozen=True, eq=False)
class RationalQuadratic(Stationary):
    """k = (1 + r2 / (2 alpha))^-alpha;  dk/dr2 = -1/2 (1 + r2 / (2 alpha))^(-alpha - 1)  (4.5d).

    Raises:
        ValueError: if a lengthscale is not above zero.

    Example:
        >>> kernel = gplens.kernels.RationalQuadratic(torch.ones(1).double(), alpha=torch.tensor(1.0).double())
        >>> round(kernel(torch.zeros(1, 1).double(), torch.ones(1, 1).double()).item(), 4)
        0.6667
    """

    alpha: Float[Tensor, ""]

    def profile(self, r2: Batch) -> Batch:
        """(1 + r2 / (2 alpha))^-alpha."""
        return self._raised(r2, 0)

    def slope(self, r2: Batch) -> Batch:
        """-1/2 (1 + r2 / (2 alpha))^(-alpha - 1)."""
        return -self._raised(r2, 1) / 2

    def bend(self, r2: Batch) -> Batch:
        """(1 + 1/alpha) r2 (1 + r2 / (2 alpha))^(-alpha - 2)."""
        return (1 + 1 / self.alpha) * r2 * self._raised(r2, 2)

    def _raised(self, r2: Batch, more: int) -> Batch:
        """(1 + r2 / (2 alpha))^(-alpha - more), by a logarithm that keeps its digits where alpha is large."""
        return torch.exp(-(self.alpha + more) * torch.log1p(r2 / (2 * self.alpha)))
