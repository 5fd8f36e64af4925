"""Kernels h(r2) of the scaled squared distance: along a line r2 is a quadratic in t (MATH 4.3)."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel
from gplens.line import Line, Section, constant_section
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
        scale, centre = self.lengthscale, Z.mean(0)  # distances do not see a shift; centring keeps their digits
        x0, d, z = (line.x0 - centre) / scale, line.d / scale, (Z - centre) / scale
        t = line.t[:, :, None]
        a = (x0**2).sum(1, keepdim=True) + (z**2).sum(1) - 2 * x0 @ z.T
        b = (x0 * d).sum(1, keepdim=True) - d @ z.T
        c = (d**2).sum(1, keepdim=True)
        r2 = a[:, None] + t * (2 * b[:, None] + t * c[:, None])
        r2 = r2.clamp(min=0)  # a sum of squares: below zero is rounding

        def pull_back(W: Float[Tensor, "b p q n"]) -> Float[Tensor, "b p d"]:
            W = 2 * W * self.slope(r2)[:, None]
            over_q, moment = W.sum(2), torch.einsum("bpqn,bq->bp", W, line.t)
            total = over_q.sum(2, keepdim=True)
            return (total * x0[:, None] + moment[:, :, None] * d[:, None] - over_q @ z) / scale  # (4.3)

        return Section(self.profile(r2), pull_back)

    def along_diagonal(self, line: Line) -> Section:
        """Constant one."""
        return constant_section(torch.ones_like(line.t), line.d.shape[1])

    def gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """2 h' (x - y) / l^2."""
        e = (X[:, None] - Y) / self.lengthscale
        return 2 * self.slope((e**2).sum(2))[..., None] * e / self.lengthscale

    def mixed(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d d"]:
        """-2 h' delta_kl / l_k^2 - 4 h'' e_k e_l / (l_k l_l),  e = (x - y) / l  (5.12a)."""
        isotropic, along, unit = self._second(X, Y)
        outer = along[..., None, None] * unit[..., None] * unit[..., None, :]
        return torch.diag_embed(isotropic[..., None] / self.lengthscale.expand(X.shape[1]) ** 2) - outer

    def mixed_diagonal(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """The entries k = l."""
        isotropic, along, unit = self._second(X, Y)
        return isotropic[..., None] / self.lengthscale**2 - along[..., None] * unit**2

    def _second(
        self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]
    ) -> tuple[Float[Tensor, "u w"], Float[Tensor, "u w"], Float[Tensor, "u w d"]]:
        """-2 h', 4 r2 h'', and the direction (x - y) / (l r) over l; where x = y its factor is zero."""
        e = (X[:, None] - Y) / self.lengthscale
        r2 = (e**2).sum(2)
        unit = e / torch.where(r2 > 0, r2, 1).sqrt()[..., None] / self.lengthscale
        return -2 * self.slope(r2), self.bend(r2), unit

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """|d| in lengthscales."""
        return (line.d / self.lengthscale).norm(dim=1)
