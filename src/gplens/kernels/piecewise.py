"""Piecewise polynomial kernels, which are zero beyond a distance of one lengthscale."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.stationary import Stationary
from gplens.lines.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class PiecewisePolynomial(Stationary):
    """k = (1-r)_+^p P(r),  P(r) = 1 + p r + c_2 r^2 + ...;  dk/dr2 = (1-r)_+^(p-1) Q(r) / 2  (4.5k).

    Q = ((1-r) P' - p P) / r is a polynomial too, because k has no linear term in r; with one, its functions would have
    no derivative. Rasmussen and Williams (2006, 4.21) give p and c_i for which k is positive definite.

    Raises:
        ValueError: if a lengthscale is not above zero, or the power is below 3.

    Example:
        >>> kernel = gplens.kernels.PiecewisePolynomial(torch.ones(1).double(), power=4, higher=torch.zeros(0).double())
        >>> kernel(torch.zeros(1, 1).double(), torch.tensor([[1.5]]).double()).item()  # zero beyond one lengthscale
        0.0
    """

    power: int
    """p >= 3, so that the second derivative of k has no jump at r = 1."""
    higher: Float[Tensor, " m"]
    """c_2, c_3, ..."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.power < 3:
            raise ValueError(f"PiecewisePolynomial: expected a power >= 3, got {self.power}.")

    @property
    def smooth(self) -> bool:
        """Its expansion in r has odd powers, and it is zero beyond r = 1."""
        return False

    @property
    def _P(self) -> list[float]:
        return [1.0, float(self.power), *self.higher.tolist()]

    @property
    def _Q(self) -> list[float]:
        return _lowered(self._P, self.power)[1:]

    def profile(self, r2: Batch) -> Batch:
        r = r2.sqrt()
        return (1 - r).clamp(min=0) ** self.power * _polynomial(self._P, r)

    def slope(self, r2: Batch) -> Batch:
        r = r2.sqrt()
        return (1 - r).clamp(min=0) ** (self.power - 1) * _polynomial(self._Q, r) / 2

    def bend(self, r2: Batch) -> Batch:
        """r (1-r)_+^(p-2) ((1-r) Q' - (p-1) Q)."""
        r = r2.sqrt()
        return r * (1 - r).clamp(min=0) ** (self.power - 2) * _polynomial(_lowered(self._Q, self.power - 1), r)


def _lowered(coefficients: list[float], power: int) -> list[float]:
    """(1-r) P' - p P, which is d[(1-r)^p P] / dr without its factor (1-r)^(p-1); coefficients from the constant up."""
    slopes = [i * c for i, c in enumerate(coefficients)][1:]
    pairs = zip([*slopes, 0.0], [0.0, *slopes], coefficients, strict=True)
    return [here - below - power * c for here, below, c in pairs]


def _polynomial(coefficients: list[float], r: Batch) -> Batch:
    """The value of a polynomial, by Horner's rule."""
    total = torch.zeros_like(r)
    for c in reversed(coefficients):
        total = total * r + c
    return total
