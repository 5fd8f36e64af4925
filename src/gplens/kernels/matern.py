"""Matern kernels that have a derivative: of smoothness 3/2 and 5/2 in closed form, and of any smoothness above 1."""

from dataclasses import dataclass
from math import gamma, sqrt
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.stationary import Stationary
from gplens.lines.radial import ProfileJet
from gplens.lines.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class Matern32(Stationary):
    """k = (1 + s) e^-s,  s = sqrt(3) r;  dk/dr2 = -3/2 e^-s  (4.5b). Its second derivative has a kink at r = 0.

    Raises:
        ValueError: if a lengthscale is not above zero.

    Example:
        >>> kernel = gplens.kernels.Matern32(torch.ones(2).double())
        >>> round(kernel(torch.zeros(1, 2).double(), torch.ones(1, 2).double()).item(), 4)
        0.2978
    """

    @property
    def smooth(self) -> bool:
        """Its expansion in r has odd powers."""
        return False

    def profile(self, r2: Batch) -> Batch:
        s = sqrt(3) * r2.sqrt()
        return (1 + s) * torch.exp(-s)

    def slope(self, r2: Batch) -> Batch:
        return -1.5 * torch.exp(-sqrt(3) * r2.sqrt())

    def jet(self, r2: Batch, log_factor: Float[Tensor, "*any"], out: tuple[Batch, Batch]) -> ProfileJet:
        r = torch.sqrt(r2, out=out[0])
        e = torch.add(log_factor, r, alpha=-sqrt(3), out=out[1]).exp_()
        return ProfileJet(torch.addcmul(e, r, e, value=sqrt(3), out=out[0]), e, -1.5)

    def bend(self, r2: Batch) -> Batch:
        s = sqrt(3) * r2.sqrt()
        return 3 * s * torch.exp(-s)


@final
@dataclass(frozen=True, eq=False)
class Matern52(Stationary):
    """k = (1 + s + s^2/3) e^-s,  s = sqrt(5) r;  dk/dr2 = -5/6 (1 + s) e^-s  (4.5c).

    Raises:
        ValueError: if a lengthscale is not above zero.

    Example:
        >>> kernel = gplens.kernels.Matern52(torch.ones(2).double())
        >>> round(kernel(torch.zeros(1, 2).double(), torch.ones(1, 2).double()).item(), 4)
        0.3173
    """

    @property
    def smooth(self) -> bool:
        """Its expansion in r has odd powers."""
        return False

    def profile(self, r2: Batch) -> Batch:
        """(1 + s + s^2/3) e^-s."""
        s = sqrt(5) * r2.sqrt()
        return (1 + s + s**2 / 3) * torch.exp(-s)

    def slope(self, r2: Batch) -> Batch:
        """-5/6 (1 + s) e^-s."""
        s = sqrt(5) * r2.sqrt()
        return -5 / 6 * (1 + s) * torch.exp(-s)

    def jet(self, r2: Batch, log_factor: Float[Tensor, "*any"], out: tuple[Batch, Batch]) -> ProfileJet:
        r = torch.sqrt(r2, out=out[1])
        e = torch.add(log_factor, r, alpha=-sqrt(5), out=out[0]).exp_()
        linear = torch.addcmul(e, r, e, value=sqrt(5), out=out[1])
        return ProfileJet(torch.addcmul(linear, r2, e, value=5 / 3, out=out[0]), linear, -5 / 6)

    def bend(self, r2: Batch) -> Batch:
        s = sqrt(5) * r2.sqrt()
        return 5 / 3 * s**2 * torch.exp(-s)


TINY = 1e-12
"""Distances s up to this one count as zero, since K_nu overflows for s < 1e-15 and nu = 20."""


@final
@dataclass(frozen=True, eq=False)
class Matern(Stationary):
    """k = M_nu(s),  M_nu(s) = 2^(1-nu)/Gamma(nu) s^nu K_nu(s),  s = sqrt(2 nu) r,  nu > 1  (4.5i).

    dk/dr2 = -nu/(2(nu-1)) M_(nu-1)(s), because d[s^nu K_nu]/ds = -s^nu K_(nu-1). The Bessel function is scipy's, which
    has to be installed. For nu = 3/2 and 5/2 use `Matern32` and `Matern52`, which have closed forms.

    Raises:
        ValueError: if a lengthscale is not above zero, or nu is not above 1 and at most 20.

    Example:
        >>> kernel = gplens.kernels.Matern(torch.ones(2).double(), nu=3.5)
        >>> kernel(torch.zeros(1, 2).double(), torch.zeros(1, 2).double()).item()
        1.0
    """

    nu: float | int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 < self.nu <= 20:
            raise ValueError(
                f"Matern: expected 1 < nu <= 20, got nu={self.nu}. For nu <= 1 its functions have no derivative. For "
                "nu > 20 use gplens.kernels.RBF, which differs by less than 0.012; K_nu leaves the range of float64."
            )

    @property
    def smooth(self) -> bool:
        """Its expansion in r has powers that are not even."""
        return False

    def profile(self, r2: Batch) -> Batch:
        return self._scaled(r2, self.nu, self.nu, 2 ** (1 - self.nu) / gamma(self.nu), limit=1.0)

    def slope(self, r2: Batch) -> Batch:
        order, limit = self.nu - 1, -self.nu / (2 * (self.nu - 1))
        return self._scaled(r2, order, order, limit * 2 ** (1 - order) / gamma(order), limit)

    def bend(self, r2: Batch) -> Batch:
        factor = self.nu * 2 ** (2 - self.nu) / gamma(self.nu)
        return self._scaled(r2, self.nu, abs(self.nu - 2), factor, limit=0.0)

    def _scaled(self, r2: Batch, power: float | int, order: float | int, factor: float, limit: float) -> Batch:
        """factor s^power K_order(s), with its limit at s = 0."""
        s = (2 * self.nu * r2).sqrt()
        far = s > TINY
        s = torch.where(far, s, 1)
        return torch.where(far, factor * s**power * _bessel(order, s), limit)


def _bessel(order: float | int, s: Batch) -> Batch:
    """K_order(s)."""
    from scipy.special import kv  # loaded when used: `import gplens` stays light

    return torch.as_tensor(kv(order, s.numpy()))
