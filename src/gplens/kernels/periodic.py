"""Periodic kernels: a product over the features, and two functions of the distance."""

from dataclasses import dataclass
from math import pi
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel, check_features
from gplens.kernels.stationary import Stationary
from gplens.lines.line import Line, Section, constant_section, summed
from gplens.lines.radial import SupportPoints
from gplens.lines.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class Periodic(Kernel):
    """k = exp(-2 sum_k sin^2(pi (x_k - z_k)/p_k) / l_k) = exp(sum_k (cos(a_k - b_k) - 1) / l_k)  (4.5g).

    With a = 2 pi x/p and b = 2 pi z/p, cos(a - b) = cos a cos b + sin a sin b is a matrix product, and so is its
    gradient. It has no structure along a line: O(qnd) a row.

    Example:
        >>> kernel = gplens.kernels.Periodic(torch.ones(1).double(), period=torch.tensor([24.0]).double())
        >>> round(kernel(torch.zeros(1, 1).double(), torch.tensor([[24.0]]).double()).item(), 9)
        1.0
    """

    lengthscale: Float[Tensor, " #d"]
    """l_k divides the squared sine and is not squared itself, as in GPyTorch."""
    period: Float[Tensor, " #d"]

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """Computed from the sines, feature by feature, so that k(x, x) = 1 exactly."""
        phase = pi * (X[:, None] - Z) / self.period
        return torch.exp(-2 * (torch.sin(phase) ** 2 / self.lengthscale).sum(2))

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return torch.ones_like(X[:, 0])

    def prepare(self, Z: Float[Tensor, "n d"]) -> SupportPoints:
        for parameter in (self.lengthscale, self.period):
            check_features(self, parameter, Z)
        return SupportPoints(Z)

    def section(self, line: Line, support: SupportPoints) -> Section:
        """d_k k = -(2 pi / (p_k l_k)) sin(a_k - b_k) k."""
        Z = support.Z
        rate, inverse = 2 * pi / self.period, (1 / self.lengthscale).expand(Z.shape[1])
        centre = Z.mean(0)  # differences do not depend on a shift, and centring keeps their digits
        a, b = rate * Line(line.x0 - centre, line.d, line.t).points(), rate * (Z - centre)
        cos_a, sin_a, cos_b, sin_b = a.cos(), a.sin(), b.cos(), b.sin()
        k = torch.exp((cos_a * inverse) @ cos_b.T + (sin_a * inverse) @ sin_b.T - inverse.sum())

        def by_node(W: Float[Tensor, "b p q n"]) -> Float[Tensor, "b p q d"]:
            W = W * k[:, None]
            return -rate * inverse * (sin_a[:, None] * (W @ cos_b) - cos_a[:, None] * (W @ sin_b))

        return Section(k, summed(by_node), by_node)

    def along_diagonal(self, line: Line) -> Section:
        return constant_section(torch.ones_like(line.t), line.d.shape[1])

    def cross_derivatives(
        self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"], *, full: bool
    ) -> Float[Tensor, "u w d *d"]:
        """k (rate_k^2 cos(a_k - b_k) / l_k delta_kl - D_k D_l),  D = (rate/l) sin(a - b)  (5.12c)."""
        rate = 2 * pi / self.period
        angle = rate * (X[:, None] - Y)
        k, curve, D = self(X, Y)[..., None], rate**2 * angle.cos() / self.lengthscale, rate * angle.sin()
        D = D / self.lengthscale
        if not full:
            return k * (curve - D**2)
        return k[..., None] * (torch.diag_embed(curve) - D[..., None] * D[..., None, :])

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """Half periods, each counted by the width of its peak: sum_k 2 |d_k| / p_k max(1, l_k^-1/2)."""
        return (2 * (line.d / self.period).abs() * self.lengthscale.rsqrt().clamp(min=1)).sum(1)


@final
@dataclass(frozen=True, eq=False)
class RadialPeriodic(Stationary):
    """k = exp((cos 2 pi r - 1) / w^2) = exp(-2 sin^2(pi r) / w^2), r the distance in periods  (4.5h).

    dk/dr2 = -(2 pi^2 / w^2) sinc(2r) k, smooth at r = 0. For one feature it equals `Periodic`. For several it does not:
    `Periodic` is a product over features, this a function of the Euclidean distance. `lengthscale` is the period.

    Raises:
        ValueError: if a lengthscale is not above zero.

    Example:
        >>> kernel = gplens.kernels.RadialPeriodic(torch.tensor([24.0]).double(), width=torch.tensor(1.0).double())
        >>> round(kernel(torch.zeros(1, 1).double(), torch.tensor([[24.0]]).double()).item(), 9)
        1.0
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
        """Half periods, each counted by the width of its peak: 2 |d| / p max(1, 1/w)."""
        return 2 * super().length(line) * (1 / self.width).clamp(min=1)


@final
@dataclass(frozen=True, eq=False)
class Cosine(Stationary):
    """k = cos(pi r), r in units of the period;  dk/dr2 = -(pi^2/2) sin(pi r)/(pi r), smooth at r = 0  (4.5e).

    Raises:
        ValueError: if a lengthscale is not above zero.

    Example:
        >>> kernel = gplens.kernels.Cosine(torch.ones(1).double())
        >>> kernel(torch.zeros(1, 1).double(), torch.tensor([[2.0]]).double()).item()
        1.0
    """

    def profile(self, r2: Batch) -> Batch:
        return torch.cos(pi * r2.sqrt())

    def slope(self, r2: Batch) -> Batch:
        return -(pi**2 / 2) * torch.sinc(r2.sqrt())

    def bend(self, r2: Batch) -> Batch:
        """pi^2 (sinc(r) - cos(pi r))."""
        r = r2.sqrt()
        return pi**2 * (torch.sinc(r) - torch.cos(pi * r))
