"""Kernels of a weighted dot product, which is linear in t along a line: linear and polynomial."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel, check_features
from gplens.lines.forms import Form
from gplens.lines.line import Line, Section
from gplens.lines.pull_back_weights import Weights
from gplens.lines.radial import SupportPoints
from gplens.lines.shapes import Batch


@dataclass(frozen=True, eq=False)
class DotProduct(Kernel):
    """k = h(s),  s = sum_k a_k x_k z_k  (4.5f).  O(nd + qn) a row."""

    variance: Float[Tensor, " #d"]
    """The weights a_k: one for each feature, or a single one for all features."""

    @abstractmethod
    def profile(self, s: Batch) -> Batch:
        """h(s)."""

    @abstractmethod
    def slope(self, s: Batch) -> Batch:
        """dh/ds."""

    @abstractmethod
    def bend(self, s: Batch) -> Batch:
        """d2h/ds2."""

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return self.profile((X * self.variance) @ Z.T)

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return self.profile((self.variance * X**2).sum(1))

    def prepare(self, Z: Float[Tensor, "n d"]) -> SupportPoints:
        check_features(self, self.variance, Z)
        return SupportPoints(Z)

    def section(self, line: Line, support: SupportPoints) -> Section:
        """s(t) = s0 + t s1  and  d_k k = h'(s) a_k z_k, so that the sum over q is again taken first."""
        az = self.variance * support.Z
        s = (line.x0 @ az.T)[:, None] + line.t[:, :, None] * (line.d @ az.T)[:, None]
        slope = self.slope(s)

        def pull_back(W: Weights) -> Form:
            return Form(shared=((W.times(slope).over_nodes(), az),))

        return Section(self.profile(s), pull_back, lambda W: (W * slope[:, None]) @ az)

    def along_diagonal(self, line: Line) -> Section:
        """s(t) = x(t)' diag(a) x(t), a quadratic in t, and  d_k k = 2 h'(s) a_k x_k."""
        ax0, ad = self.variance * line.x0, self.variance * line.d
        s0, s1, s2 = ((u * w).sum(1, keepdim=True) for u, w in ((ax0, line.x0), (ax0, line.d), (ad, line.d)))
        s = s0 + line.t * (2 * s1 + line.t * s2)

        def pull_back(weights: Weights) -> Form:
            W, a = 2 * weights.times(self.slope(s)).dense(), self.variance.expand(line.d.shape[1])
            return line.baseline_form(W.sum(2), a) + Form(
                by_row=(((W * line.t[:, None]).sum(2)[..., None], a[None], line.d),)
            )

        def by_node(W: Float[Tensor, "b p q"]) -> Float[Tensor, "b p q d"]:
            return (2 * W * self.slope(s)[:, None])[..., None] * (self.variance * line.points())[:, None]

        return Section(self.profile(s), pull_back, by_node)

    def cross_derivatives(
        self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"], *, full: bool
    ) -> Float[Tensor, "u w d *d"]:
        """h' a_k delta_kl + h'' a_k y_k a_l x_l  (5.12b)."""
        s, a = (X * self.variance) @ Y.T, self.variance.expand(X.shape[1])
        slope, bend, left, right = self.slope(s)[..., None], self.bend(s)[..., None], (a * Y)[None], (a * X)[:, None]
        if not full:
            return slope * a + bend * left * right
        return slope[..., None] * torch.diag(a) + bend[..., None] * left[..., None] * right[..., None, :]


@dataclass(frozen=True, eq=False)
class PolynomialProduct(DotProduct):
    """A polynomial of the dot product."""

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """Zero: a polynomial in t has no lengthscale."""
        return torch.zeros_like(line.d[:, 0])


@final
@dataclass(frozen=True, eq=False)
class Linear(PolynomialProduct):
    """k = sum_k a_k x_k z_k.

    Example:
        >>> kernel = gplens.kernels.Linear(torch.tensor([1.0, 3.0]).double())
        >>> kernel(torch.ones(1, 2).double(), torch.ones(1, 2).double()).item()
        4.0
    """

    def profile(self, s: Batch) -> Batch:
        return s

    def slope(self, s: Batch) -> Batch:
        return torch.ones_like(s)

    def bend(self, s: Batch) -> Batch:
        return torch.zeros_like(s)


@final
@dataclass(frozen=True, eq=False)
class Polynomial(PolynomialProduct):
    """k = (s + offset)^power,  s = sum_k a_k x_k z_k,  for an integer power >= 1.

    Example:
        >>> kernel = gplens.kernels.Polynomial(torch.ones(2).double(), offset=torch.tensor(1.0).double(), power=2)
        >>> kernel(torch.ones(1, 2).double(), torch.ones(1, 2).double()).item()
        9.0
    """

    offset: Float[Tensor, ""]
    power: int

    def profile(self, s: Batch) -> Batch:
        return (s + self.offset) ** self.power

    def slope(self, s: Batch) -> Batch:
        return self.power * (s + self.offset) ** (self.power - 1)

    def bend(self, s: Batch) -> Batch:
        if self.power == 1:
            return torch.zeros_like(s)
        return self.power * (self.power - 1) * (s + self.offset) ** (self.power - 2)
