"""Matern kernels that have a derivative: smoothness 3/2 and 5/2."""

from dataclasses import dataclass
from math import sqrt
from typing import final

import torch

from gplens.kernels.stationary import Stationary
from gplens.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class Matern32(Stationary):
    """k = (1 + s) e^-s,  s = sqrt(3) r;  dk/dr2 = -3/2 e^-s  (4.5b). Its second derivative has a kink at r = 0."""

    @property
    def smooth(self) -> bool:
        """Odd powers of r begin at the third, or the fifth."""
        return False

    def profile(self, r2: Batch) -> Batch:
        """(1 + s) e^-s."""
        s = sqrt(3) * r2.sqrt()
        return (1 + s) * torch.exp(-s)

    def slope(self, r2: Batch) -> Batch:
        """-3/2 e^-s."""
        return -1.5 * torch.exp(-sqrt(3) * r2.sqrt())

    def jet(self, r2: Batch) -> tuple[Batch, Batch]:
        """One root and one exponential for both."""
        s = sqrt(3) * r2.sqrt()
        e = torch.exp(-s)
        return (1 + s) * e, -1.5 * e

    def bend(self, r2: Batch) -> Batch:
        """3 s e^-s."""
        s = sqrt(3) * r2.sqrt()
        return 3 * s * torch.exp(-s)


@final
@dataclass(frozen=True, eq=False)
class Matern52(Stationary):
    """k = (1 + s + s^2/3) e^-s,  s = sqrt(5) r;  dk/dr2 = -5/6 (1 + s) e^-s  (4.5c)."""

    @property
    def smooth(self) -> bool:
        """Odd powers of r begin at the third, or the fifth."""
        return False

    def profile(self, r2: Batch) -> Batch:
        """(1 + s + s^2/3) e^-s."""
        s = sqrt(5) * r2.sqrt()
        return (1 + s + s**2 / 3) * torch.exp(-s)

    def slope(self, r2: Batch) -> Batch:
        """-5/6 (1 + s) e^-s."""
        s = sqrt(5) * r2.sqrt()
        return -5 / 6 * (1 + s) * torch.exp(-s)

    def jet(self, r2: Batch) -> tuple[Batch, Batch]:
        """One root and one exponential for both."""
        s = sqrt(5) * r2.sqrt()
        e = torch.exp(-s)
        return (1 + s + s**2 / 3) * e, -5 / 6 * (1 + s) * e

    def bend(self, r2: Batch) -> Batch:
        """5/3 s^2 e^-s."""
        s = sqrt(5) * r2.sqrt()
        return 5 / 3 * s**2 * torch.exp(-s)
