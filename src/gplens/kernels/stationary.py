"""Kernels h(r2) of the scaled squared distance, which is a quadratic in t along a line (MATH 4.3)."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel, check_features
from gplens.lines.between import Between
from gplens.lines.forms import Quadratic
from gplens.lines.line import Line, Section, constant_section
from gplens.lines.radial import Profile, Radial, SupportPoints
from gplens.lines.shapes import Batch


@dataclass(frozen=True, eq=False)
class Stationary(Kernel, Profile):
    """k = h(r2),  r2 = sum_k (x_k - z_k)^2 / l_k^2.  O(nd + qn) a row for values and for the pull-back."""

    lengthscale: Float[Tensor, " #d"]
    """The lengthscales l_k: one for each feature, or a single one for all features."""

    def __post_init__(self) -> None:
        if not bool((self.lengthscale > 0).all()):
            raise ValueError(f"{type(self).__name__}: expected lengthscales > 0, got {self.lengthscale.tolist()}.")

    @abstractmethod
    def bend(self, r2: Batch) -> Batch:
        """4 r2 d2h/dr2^2, which is finite everywhere and zero at r2 = 0."""

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """h(r2), with differences taken feature by feature, so that r2(x, x) = 0 exactly."""
        scale = self.lengthscale
        distance = torch.cdist(X / scale, Z / scale, compute_mode="donot_use_mm_for_euclid_dist")
        return self.profile(distance**2)

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return torch.ones_like(X[:, 0])

    def prepare(self, Z: Float[Tensor, "n d"]) -> SupportPoints:
        check_features(self, self.lengthscale, Z)
        return SupportPoints(Z, self.lengthscale)

    def section(self, line: Line, support: SupportPoints) -> Section:
        return self._radial(line, support).section(self)

    def scaled_section(self, line: Line, support: SupportPoints, factor: Float[Tensor, ""]) -> Section:
        if not bool(factor > 0):
            return self.section(line, support).scaled(factor)
        return self._radial(line, support).section(self, factor)

    def _radial(self, line: Line, support: SupportPoints) -> Radial:
        return Radial.of(support.points, line)

    def along_diagonal(self, line: Line) -> Section:
        return constant_section(torch.ones_like(line.t), line.d.shape[1])

    def gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """2 h' (x - y) / l^2."""
        e = (X[:, None] - Y) / self.lengthscale
        return 2 * self.slope((e**2).sum(2))[..., None] * e / self.lengthscale

    def between(self, left: Line, right: Line) -> Between:
        """-2 h' delta_kl / l_k^2 - 4 h'' e_k e_l / (l_k l_l)  (5.12a), with one direction e = (t - s) d / l a row.

        For two lines that differ there is a direction for each pair of nodes.
        """
        if not (torch.equal(left.d, right.d) and torch.equal(left.x0, right.x0)):
            return self._between(left.points()[:, :, None] - right.points()[:, None])
        e, rho = left.d / self.lengthscale, self.lengthscale.expand(left.d.shape[1]) ** -2
        gap, norm2 = left.t[:, :, None] - right.t[:, None], (e**2).sum(1)
        r2 = gap**2 * norm2[:, None, None]
        slope, bend, direction = 2 * self.slope(r2), self.bend(r2), e / self.lengthscale
        unit = direction / torch.where(norm2 > 0, norm2, 1).sqrt()[:, None]

        def by_x(sign: float) -> Float[Tensor, "b q p d"]:
            """sign 2 h' (t - s) d / l^2, with the nodes in the last axis, where sums over them are fast."""
            return ((sign * slope * gap)[:, :, None] * direction[:, None, :, None]).mT

        def matrix(isotropic: Float[Tensor, "b *qp"], ahead: Float[Tensor, "b *qp"], full: bool) -> Tensor:
            u = unit.view(len(unit), *[1] * (isotropic.ndim - 1), -1)
            if not full:
                return isotropic[..., None] * rho - ahead[..., None] * u**2
            outer = ahead[..., None, None] * u[..., None] * u[..., None, :]
            return isotropic[..., None, None] * torch.diag(rho) - outer

        return Between(
            self.profile(r2),
            lambda: by_x(1.0),
            lambda: by_x(-1.0),
            lambda full: matrix(-slope, bend, full),
            lambda H, full: matrix(-(H * slope).sum((1, 2)), (H * bend).sum((1, 2)), full),
        )

    def between_points(self, X: Float[Tensor, "q d"], Y: Float[Tensor, "p d"]) -> Between:
        return self._between((X[:, None] - Y)[None])

    def _between(self, difference: Float[Tensor, "b q p d"]) -> Between:
        """(5.12a) with a direction for each pair of points."""
        e = difference / self.lengthscale
        return self._in_columns((e**2).sum(3), e, self.lengthscale.expand(difference.shape[3]))

    def _in_columns(
        self, r2: Float[Tensor, "b q p"], e: Float[Tensor, "b q p k"], lengthscale: Float[Tensor, " k"]
    ) -> Between:
        """Derivatives in the columns of e, which may be a subset of the columns of the distances."""
        slope, bend, rho = 2 * self.slope(r2), self.bend(r2), lengthscale**-2

        def by_x(sign: float) -> Float[Tensor, "b q p k"]:
            return (sign * slope)[..., None] * e / lengthscale

        def unit() -> Float[Tensor, "b q p k"]:
            return e / (torch.where(r2 > 0, r2, 1).sqrt()[..., None] * lengthscale)

        def by_both(full: bool) -> Float[Tensor, "b q p k *k"]:
            u = unit()
            if not full:
                return -slope[..., None] * rho - bend[..., None] * u**2
            outer = bend[..., None, None] * u[..., None] * u[..., None, :]
            return -slope[..., None, None] * torch.diag(rho) - outer

        def summed(H: Float[Tensor, "b q p"], full: bool) -> Float[Tensor, "b k *k"]:
            u = unit()
            isotropic, ahead = -(H * slope).sum((1, 2)), ((H * bend)[..., None] * u).flatten(1, 2)
            if not full:
                return isotropic[:, None] * rho - (ahead * u.flatten(1, 2)).sum(1)
            return isotropic[:, None, None] * torch.diag(rho) - ahead.mT @ u.flatten(1, 2)

        return Between(
            self.profile(r2),
            lambda: by_x(1.0),
            lambda: by_x(-1.0),
            by_both,
            summed,
            lambda dims: self._in_columns(r2, e[..., dims], lengthscale[dims]),
        )

    def fold(
        self, left: Line, right: Line, support: SupportPoints, H: Float[Tensor, "b q p"], A: Quadratic, *, full: bool
    ) -> Float[Tensor, "b d *d"]:
        """Sums over both nodes come before any product with features: O(q n^2 + n^2 d) a row  (5.13a)."""
        if not A.keeps_digits:
            return super().fold(left, right, support, H, A, full=full)
        left_distances = self._radial(left, support)
        right_distances = left_distances if right is left else self._radial(right, support)
        return left_distances.fold(self, right_distances, H, A.matrix[0], full=full)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """|d| in lengthscales."""
        return (line.d / self.lengthscale).norm(dim=1)
