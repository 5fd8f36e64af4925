"""Kernels h(r2) of the scaled squared distance: along a line r2 is a quadratic in t (MATH 4.3)."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.between import Between
from gplens.kernels.kernel import Kernel
from gplens.line import Line, Section, constant_section
from gplens.quadratic import Quadratic
from gplens.shapes import Batch


@dataclass(frozen=True, eq=False)
class Stationary(Kernel):
    """k = h(r2),  r2 = sum_k (x_k - z_k)^2 / l_k^2.  O(nd + qn) a row for values and for the pull-back."""

    lengthscale: Float[Tensor, " #d"]
    """One for each feature, or one for all of them."""

    def __post_init__(self) -> None:
        if not bool((self.lengthscale > 0).all()):
            raise ValueError(f"{type(self).__name__} wants lengthscales above zero; got {self.lengthscale.tolist()}.")

    @abstractmethod
    def profile(self, r2: Batch) -> Batch:
        """h(r2), with h(0) = 1."""

    @abstractmethod
    def slope(self, r2: Batch) -> Batch:
        """dh/dr2, finite at r2 = 0."""

    @abstractmethod
    def bend(self, r2: Batch) -> Batch:
        """4 r2 d2h/dr2^2, which is finite, and zero at r2 = 0, for all of them."""

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """h(r2) with the distances summed feature by feature, so that r2(x, x) = 0 exactly."""
        scale = self.lengthscale
        distance = torch.cdist(X / scale, Z / scale, compute_mode="donot_use_mm_for_euclid_dist")
        return self.profile(distance**2)

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """h(0) = 1."""
        return torch.ones_like(X[:, 0])

    def along(self, line: Line, Z: Float[Tensor, "n d"]) -> Section:
        """r2(t) = a + 2 b t + c t^2; the sum over q is taken before the features are touched (4.3)."""
        return _Radial.of(self, line, Z).section(self)

    def along_diagonal(self, line: Line) -> Section:
        """Constant one."""
        return constant_section(torch.ones_like(line.t), line.d.shape[1])

    def gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """2 h' (x - y) / l^2."""
        e = (X[:, None] - Y) / self.lengthscale
        return 2 * self.slope((e**2).sum(2))[..., None] * e / self.lengthscale

    def between(self, left: Line, right: Line) -> Between:
        """-2 h' delta_kl / l_k^2 - 4 h'' e_k e_l / (l_k l_l),  e = (t - s) d / l  (5.12a): one direction for a row."""
        e, rho = left.d / self.lengthscale, self.lengthscale.expand(left.d.shape[1]) ** -2
        gap, norm2 = left.t[:, :, None] - right.t[:, None], (e**2).sum(1)
        r2 = gap**2 * norm2[:, None, None]
        slope, bend, direction = 2 * self.slope(r2), self.bend(r2), e / self.lengthscale
        unit = direction / torch.where(norm2 > 0, norm2, 1).sqrt()[:, None]
        by_x = (slope * gap)[..., None] * direction[:, None, None]

        def matrix(isotropic: Float[Tensor, "b *qp"], along: Float[Tensor, "b *qp"], full: bool) -> Tensor:
            own = unit.view(len(unit), *[1] * (isotropic.ndim - 1), -1)
            if not full:
                return isotropic[..., None] * rho - along[..., None] * own**2
            outer = along[..., None, None] * own[..., None] * own[..., None, :]
            return isotropic[..., None, None] * torch.diag(rho) - outer

        return Between(
            self.profile(r2),
            by_x,
            -by_x,
            lambda full: matrix(-slope, bend, full),
            lambda H, full: matrix(-(H * slope).sum((1, 2)), (H * bend).sum((1, 2)), full),
        )

    def fold(
        self,
        left: Line,
        right: Line,
        Z: Float[Tensor, "n d"],
        H: Float[Tensor, "b q p"],
        A: Quadratic,
        *,
        full: bool,
    ) -> Float[Tensor, "b d *d"]:
        """The sums over both nodes taken before the features are touched: O(q n^2 + n^2 d) a row  (5.13a)."""
        if not A.keeps_digits:
            return super().fold(left, right, Z, H, A, full=full)
        first = _Radial.of(self, left, Z)
        return first.fold(self, first if right is left else _Radial.of(self, right, Z), H, A.matrix, full=full)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """|d| in lengthscales."""
        return (line.d / self.lengthscale).norm(dim=1)


@final
@dataclass(frozen=True, eq=False)
class _Radial:
    """A line and support points as a stationary kernel sees them: centred, in lengthscales; r2 at all pairs."""

    x0: Float[Tensor, "#b d"]
    d: Float[Tensor, "b d"]
    t: Float[Tensor, "b q"]
    z: Float[Tensor, "n d"]
    scale: Float[Tensor, " #d"]
    r2: Float[Tensor, "b q n"]

    @staticmethod
    def of(kernel: Stationary, line: Line, Z: Float[Tensor, "n d"]) -> "_Radial":
        """r2(t) = a + 2 b t + c t^2."""
        scale, centre = kernel.lengthscale, Z.mean(0)  # distances do not see a shift; centring keeps their digits
        x0, d, z = (line.x0 - centre) / scale, line.d / scale, (Z - centre) / scale
        t = line.t[:, :, None]
        a = (x0**2).sum(1, keepdim=True) + (z**2).sum(1) - 2 * x0 @ z.T
        b = (x0 * d).sum(1, keepdim=True) - d @ z.T
        c = (d**2).sum(1, keepdim=True)
        r2 = a[:, None] + t * (2 * b[:, None] + t * c[:, None])
        return _Radial(x0, d, line.t, z, scale, r2.clamp(min=0))  # a sum of squares: below zero is rounding

    def section(self, kernel: Stationary) -> Section:
        """d_k k = 2 h' (x0 + t d - z)_k / l_k."""
        slope = 2 * kernel.slope(self.r2)[:, None]

        def pull_back(W: Float[Tensor, "b p q n"]) -> Float[Tensor, "b p d"]:
            W = W * slope
            over_q, moment = W.sum(2), torch.einsum("bpqn,bq->bp", W, self.t)
            total = over_q.sum(2, keepdim=True)
            return (total * self.x0[:, None] + moment[:, :, None] * self.d[:, None] - over_q @ self.z) / self.scale

        def by_node(W: Float[Tensor, "b p q n"]) -> Float[Tensor, "b p q d"]:
            W = W * slope
            points = self.x0[:, None] + self.t[:, :, None] * self.d[:, None]
            return (W.sum(3, keepdim=True) * points[:, None] - W @ self.z) / self.scale

        return Section(kernel.profile(self.r2), pull_back, by_node)  # (4.3)

    def fold(
        self, kernel: Stationary, other: "_Radial", H: Float[Tensor, "b q p"], A: Float[Tensor, "n n"], *, full: bool
    ) -> Float[Tensor, "b d *d"]:
        """sum_nm N_nm (x0 + t d - z_n)_k (x0 + s d - z_m)_l with N = A o (D'HD), t and s inside the sums  (5.13a)."""
        D, C, x0, d, z = 2 * kernel.slope(self.r2), 2 * kernel.slope(other.r2), self.x0, self.d, self.z
        t, s = self.t[:, :, None], other.t[:, :, None]
        N, N_s = A * (D.mT @ (H @ C)), ((H @ (s * C)) @ A) * D
        over_m, s_over_m, t_over_n = N.sum(2), N_s.sum(1), (((H.mT @ (t * D)) @ A) * C).sum(1)
        by_x0 = _sum(over_m) * x0 + _sum(s_over_m) * d - N.sum(1) @ z
        by_d = _sum(t_over_n) * x0 + _sum((t * N_s).sum(1)) * d - t_over_n @ z
        by_z = over_m[..., None] * x0[:, None] + s_over_m[..., None] * d[:, None] - N @ z
        if not full:
            return (x0 * by_x0 + d * by_d - (z * by_z).sum(1)) / self.scale**2
        total = x0[:, :, None] * by_x0[:, None] + d[:, :, None] * by_d[:, None] - z.T @ by_z
        return total / (self.scale * self.scale[:, None])


def _sum(weights: Float[Tensor, "b n"]) -> Float[Tensor, "b 1"]:
    return weights.sum(1, keepdim=True)
