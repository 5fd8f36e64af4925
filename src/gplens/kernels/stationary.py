"""Kernels h(r2) of the scaled squared distance: along a line r2 is a quadratic in t (MATH 4.3)."""

from abc import abstractmethod
from dataclasses import dataclass
from weakref import ref

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel
from gplens.lines.between import Between
from gplens.lines.line import Line, Section, constant_section
from gplens.lines.quadratic import Quadratic
from gplens.lines.radial import Points, Profile, Radial
from gplens.lines.shapes import Batch


@dataclass(frozen=True, eq=False)
class Stationary(Kernel, Profile):
    """k = h(r2),  r2 = sum_k (x_k - z_k)^2 / l_k^2.  O(nd + qn) a row for values and for the pull-back."""

    lengthscale: Float[Tensor, " #d"]
    """One for each feature, or one for all of them."""

    def __post_init__(self) -> None:
        if not bool((self.lengthscale > 0).all()):
            raise ValueError(f"{type(self).__name__} wants lengthscales above zero; got {self.lengthscale.tolist()}.")

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
        return Radial.of(self._points(Z), line).section(self)

    def _points(self, Z: Float[Tensor, "n d"]) -> Points:
        """The support points scaled, kept until they or others come next: all blocks of a table share them."""
        kept = vars(self).get("_kept")
        if kept is None or kept[0]() is not Z or kept[1] != Z._version:
            kept = ref(Z), Z._version, Points.of(Z, self.lengthscale)
            object.__setattr__(self, "_kept", kept)
        return kept[2]

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
        along = (slope * gap)[..., None]

        def matrix(isotropic: Float[Tensor, "b *qp"], ahead: Float[Tensor, "b *qp"], full: bool) -> Tensor:
            own = unit.view(len(unit), *[1] * (isotropic.ndim - 1), -1)
            if not full:
                return isotropic[..., None] * rho - ahead[..., None] * own**2
            outer = ahead[..., None, None] * own[..., None] * own[..., None, :]
            return isotropic[..., None, None] * torch.diag(rho) - outer

        return Between(
            self.profile(r2),
            lambda: along * direction[:, None, None],
            lambda: -along * direction[:, None, None],
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
        first = Radial.of(self._points(Z), left)
        second = first if right is left else Radial.of(self._points(Z), right)
        return first.fold(self, second, H, A.matrix[0], full=full)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """|d| in lengthscales."""
        return (line.d / self.lengthscale).norm(dim=1)
