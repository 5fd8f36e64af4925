"""Scaled squared distances from a line to support points, which are quadratics in t (MATH 4.3, 5.13a)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.forms import Form
from gplens.lines.line import Line, Section
from gplens.lines.pull_back_weights import Weights
from gplens.lines.shapes import Batch

FAR = 16.0
"""Lengthscales from end to end beyond which a line is described from its middle, and from the centre to a support point
beyond which it is described from the point nearest to each of them: what cancels is then 1e-16 FAR^2."""
NodeWeights = Float[Tensor, "b p q n"]
NodeGradients = Float[Tensor, "b p q d"]


class Profile(ABC):
    """A function h of the scaled squared distance."""

    @abstractmethod
    def profile(self, r2: Batch) -> Batch:
        """h(r2), with h(0) = 1."""

    @abstractmethod
    def slope(self, r2: Batch) -> Batch:
        """dh/dr2, finite at r2 = 0."""

    def jet(self, r2: Batch, log_factor: Float[Tensor, "*any"], out: tuple[Batch, Batch]) -> "ProfileJet":
        """A multiple of h and dh/dr2 together, the first written into out[0]; r2 may be overwritten.

        Overridden if the two share work. The slope is written into out[1], unless it is a multiple of h.
        """
        factor = log_factor.exp()
        profile = torch.mul(factor, self.profile(r2), out=out[0])
        return ProfileJet(profile, torch.mul(factor, self.slope(r2), out=out[1]), 1.0)


class ProfileJet(NamedTuple):
    """h and dh/dr2; the latter is a constant times a tensor, which may be h itself."""

    profile: Batch
    slope: Batch
    constant: float
    """dh/dr2 = constant * slope."""


@final
@dataclass(frozen=True, eq=False)
class Points:
    """Support points in the units of a stationary kernel: everything that does not depend on a line."""

    centre: Float[Tensor, " d"]
    """The mean of the support points. Distances do not depend on a shift, and centring keeps their digits."""
    scale: Float[Tensor, " #d"]
    """The lengthscales."""
    z: Float[Tensor, "n d"]
    """The support points, centred, in lengthscales."""
    norm2: Float[Tensor, " n"]
    pulled: Float[Tensor, "n d"]
    """z divided by the lengthscales once more; z itself if all features share one lengthscale."""
    factor: float
    """The factor by which `pulled` has to be multiplied in the end."""
    with_ones: Float[Tensor, "n e"]
    """z with a column of ones, so that one product also gives the sums of weights."""
    wide: bool
    """Whether they are so far from each other that distances would lose digits in products over the features."""

    @staticmethod
    def of(Z: Float[Tensor, "n d"], scale: Float[Tensor, " #d"]) -> "Points":
        """Scale and centre Z. O(nd)."""
        centre, scale = Z.mean(0), scale.to(Z.dtype)
        z = (Z - centre) / scale
        pulled, factor = (z, 1 / float(scale)) if scale.shape[0] == 1 else (z / scale, 1.0)
        with_ones = torch.cat([z, torch.ones_like(z[:, :1])], dim=1)
        norm2 = (z**2).sum(1)
        return Points(centre, scale, z, norm2, pulled, factor, with_ones, is_wide(norm2))


@final
@dataclass(frozen=True, eq=False)
class SupportPoints:
    """Support points with everything that a kernel computes from them once; the result of `Kernel.prepare(Z)`.

    The process that owns the support points keeps it, so that it is not computed again for every line.
    """

    Z: Float[Tensor, "n d"]
    scale: Float[Tensor, " #d"] | None = None
    """The lengthscales of a stationary kernel."""
    parts: "tuple[SupportPoints, ...]" = ()
    """The prepared points of the parts of a composite kernel."""

    @cached_property
    def points(self) -> Points:
        """The scaled points of a stationary kernel, computed on first use."""
        assert self.scale is not None
        return Points.of(self.Z, self.scale)


@final
@dataclass(frozen=True, eq=False)
class Radial:
    """The squared distances r2 between the nodes of a line and the support points."""

    points: Points
    line: Line
    """The line as given."""
    x0: Float[Tensor, "#b d"]
    """The point of the line from which t counts, centred, in lengthscales: the baseline unless that is far away."""
    d: Float[Tensor, "b d"]
    """x - x0 in lengthscales."""
    t: Float[Tensor, "b q"]
    """The nodes, counted from x0."""
    r2: Float[Tensor, "b q n"]

    @staticmethod
    def of(points: Points, line: Line) -> "Radial":
        """r2(t) = a + 2 b t + c t^2, the coefficients by products over the features.

        Many lengthscales away from the support points a, b and c are large and cancel. The line is then described from
        its point nearest to their centre (4.3a), or nearest to each of them if they are far from each other (4.3b).
        """
        x0, d, t, z = (line.x0 - points.centre) / points.scale, line.d / points.scale, line.t, points.z
        c = (d**2).sum(1, keepdim=True)
        if d.shape[0] and float(c.max()) > FAR**2:
            nearest = (-(x0 * d).sum(1, keepdim=True) / c).nan_to_num(nan=0.0).clamp(0, 1)
            x0, t = x0 + nearest * d, t - nearest
        if points.wide:
            return Radial(points, line, x0, d, t, from_nearest_points(x0, d, t, z))
        a = (x0**2).sum(1, keepdim=True) + points.norm2 - 2 * x0 @ z.T
        b = (x0 * d).sum(1, keepdim=True) - d @ z.T
        powers = torch.stack([torch.ones_like(t), 2 * t, t**2], dim=2)
        coefficients = torch.stack([a.expand_as(b), b, c.expand_as(b)], dim=1)
        r2 = torch.bmm(powers, coefficients, out=line.empty(*t.shape, z.shape[0]))
        return Radial(points, line, x0, d, t, r2.clamp_(min=0))  # a sum of squares: negative values are rounding

    def section(self, h: Profile, factor: Float[Tensor, ""] | None = None) -> Section:
        """h, or a positive multiple of it:  d_k h = 2 h' (x0 + t d - z)_k / l_k.

        The sum over q comes before any product with features (4.3).
        """
        log_factor = self.r2.new_zeros(()) if factor is None else factor.log()
        out = self.line.empty_like(self.r2), self.line.empty_like(self.r2)
        (profile, slope, constant), points, t = h.jet(self.r2, log_factor, out), self.points, self.t
        inverse = (1 / points.scale).expand(points.centre.shape[0])

        def pull_back(W: Weights) -> Form:
            W = W.scaled(-2.0 * constant * points.factor).times(slope, self.line.empty_like)
            over_q, back = W.over_nodes(), -inverse / points.factor
            moved = Form(by_row=((W.moment(t)[..., None], (back * inverse)[None], self.line.d),))
            moved = moved + Line(self.x0, self.d, t).baseline_form(over_q.sum(2), back)
            return moved + Form(shared=((over_q, points.pulled),))

        def by_node(W: NodeWeights) -> NodeGradients:
            """One pass over the weights, and one product whose last column has the sums of the weights."""
            summed = (W * (2 * constant * slope)[:, None]) @ points.with_ones
            x = self.x0[:, None] + t[:, :, None] * self.d[:, None]
            return (summed[..., -1:] * x[:, None] - summed[..., :-1]) * inverse

        return Section(profile, pull_back, by_node)

    def fold(
        self, h: Profile, other: "Radial", H: Float[Tensor, "b q p"], A: Float[Tensor, "n n"], *, full: bool
    ) -> Float[Tensor, "b d *d"]:
        """sum_nm N_nm (x0 + t d - z_n)_k (y0 + s e - z_m)_l with N = A o (D'HC), t and s inside the sums  (5.13a)."""
        D, x0, d, z = 2 * h.slope(self.r2), self.x0, self.d, self.points.z
        C, y0, e = D if other is self else 2 * h.slope(other.r2), other.x0, other.d
        t, s = self.t[:, :, None], other.t[:, :, None]
        symmetric = other is self and not full
        H = (H + H.mT) / 2 if symmetric else H  # of a diagonal the skew part is zero
        N, N_s = (D.mT @ (H @ C)).mul_(A), ((H @ (s * C)) @ A).mul_(D)
        over_m, s_over_m = N.sum(2), N_s.sum(1)
        t_over_n = s_over_m if symmetric else ((H.mT @ (t * D)) @ A).mul_(C).sum(1)
        by_x0 = _sum(over_m) * y0 + _sum(s_over_m) * e - N.sum(1) @ z
        by_d = _sum(t_over_n) * y0 + _sum((t * N_s).sum(1)) * e - t_over_n @ z
        by_z = over_m[..., None] * y0[:, None] + s_over_m[..., None] * e[:, None] - N @ z
        if not full:
            return (x0 * by_x0 + d * by_d - (z * by_z).sum(1)) / self.points.scale**2
        total = x0[:, :, None] * by_x0[:, None] + d[:, :, None] * by_d[:, None] - z.T @ by_z
        return total / (self.points.scale * self.points.scale[:, None])


def _sum(weights: Float[Tensor, "b n"]) -> Float[Tensor, "b 1"]:
    return weights.sum(1, keepdim=True)


def is_wide(norm2: Float[Tensor, "*c n"]) -> bool:
    """Whether squared distances of support points from their centre, in lengthscales, are too large for products."""
    return norm2.numel() > 0 and float(norm2.max()) > FAR**2


def from_nearest_points(
    x0: Float[Tensor, "#b d"], d: Float[Tensor, "b d"], t: Float[Tensor, "b q"], z: Float[Tensor, "n d"]
) -> Float[Tensor, "b q n"]:
    """r2 = |p - z|^2 + (t - tau) (2 (p - z)'d + (t - tau) d'd),  p = x0 + tau d, feature by feature  (4.3b).

    O(nd) differences for each line, where products over the features would cancel.
    """
    c = (d**2).sum(1, keepdim=True)
    tau = ((d @ z.T - (x0 * d).sum(1, keepdim=True)) / c).nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    tau = torch.maximum(torch.minimum(tau, t.amax(1, keepdim=True)), t.amin(1, keepdim=True)) if t.shape[1] else tau
    least, slope = torch.zeros_like(tau), torch.zeros_like(tau)
    for x0_k, d_k, z_k in zip(x0.T[..., None], d.T[..., None], z.T, strict=True):
        apart = (x0_k - z_k) + tau * d_k
        least, slope = least + apart**2, slope + 2 * apart * d_k
    beyond = t[:, :, None] - tau[:, None]
    return (beyond * c[:, None]).add_(slope[:, None]).mul_(beyond).add_(least[:, None]).clamp_(min=0)
