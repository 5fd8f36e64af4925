"""Error bars along smooth curves: a posterior at nodes of a curve, and the kernel between two of them (MATH 1.12)."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.between import Between, stack
from gplens.lines.line import Line
from gplens.lines.pairs import NodeMarginals, Pairs, SplitPairs
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.smooth_map import MapJet
from gplens.processes.stack import Stack

if TYPE_CHECKING:
    from gplens.processes.curved import Curved


def posterior_of(base: Process, latent: int) -> tuple[Posterior, int] | None:
    """The posterior that a latent function belongs to, and its index there; None for other processes."""
    if isinstance(base, Stack):
        for part in base.parts:
            if latent < part.latents:
                return posterior_of(part, latent)
            latent -= part.latents
    return (base, latent) if isinstance(base, Posterior) else None


@final
@dataclass(frozen=True, eq=False)
class CurveNodes:
    """One latent function of a posterior at the nodes of b curves, with gradients in the raw inputs."""

    curve: "Curved"
    posterior: Posterior
    latent: int
    line: Line

    @cached_property
    def jet(self) -> MapJet:
        return self.curve.at(self.line)

    @cached_property
    def marginals(self) -> NodeMarginals:
        """m and v with their gradients, pulled back."""
        shape, X = self.line.t.shape, self.jet.values
        base = self.posterior.select((self.latent,))
        at = base.along(Line.at(X))
        ones, zeros = torch.ones_like(at.m)[:, None], torch.zeros_like(at.m)[:, None]
        form = at.pull_back(torch.cat([ones, zeros], dim=1), torch.cat([zeros, ones], dim=1))
        m_k, v_k = self.jet.back(form.evaluate(X.new_empty(len(X), 2, X.shape[1]))).unflatten(0, shape).unbind(2)
        return NodeMarginals(at.m[:, 0, 0].view(shape), at.v[:, 0, 0].view(shape), m_k, v_k)

    @cached_property
    def w(self) -> Float[Tensor, "b q r"]:
        """F k."""
        k = self.posterior.kernel(self.jet.values, self.posterior.Z)
        return (k @ self._F.T).unflatten(0, self.line.t.shape)

    @cached_property
    def w_k(self) -> Float[Tensor, "b q r d"]:
        """F d_k k, which keeps digits that a product with A would lose (1.7)."""
        gradient = self.posterior.kernel.gradient(self.jet.values, self.posterior.Z)
        return self.jet.back(self._F @ gradient).unflatten(0, self.line.t.shape)

    @property
    def _F(self) -> Float[Tensor, "r n"]:
        return self.posterior.A.of(self.latent).F[0]

    @property
    def s(self) -> Float[Tensor, " r"]:
        """The signs of A = F' diag(s) F."""
        return self.posterior.A.of(self.latent).s[0]

    def slopes(self, w: Float[Tensor, "b p r"]) -> Float[Tensor, "b p q d"]:
        """d_k k(x_q,Z) A k(Z,y_p), for the F k of all nodes y_p."""
        b, q, r, d = self.w_k.shape
        columns = self.w_k.permute(0, 2, 1, 3).reshape(b, r, q * d)
        return ((w * self.s) @ columns).unflatten(2, (q, d))

    def gradient_sum(self, other: "CurveNodes", H: Float[Tensor, "b q p"], full: bool) -> Float[Tensor, "b d *d"]:
        """sum_qp H_qp d_k k(x_q,Z) A d_l k(Z,y_p)."""
        weighted = (H @ other.w_k.flatten(2)).view(len(H), -1, *other.w_k.shape[2:]) * self.s[:, None]
        if not full:
            return (self.w_k * weighted).sum((1, 2))
        return self.w_k.flatten(1, 2).mT @ weighted.flatten(1, 2)

    def gradients(self, other: "CurveNodes", full: bool) -> Float[Tensor, "b q p d *d"]:
        """d_k k(x_q,Z) A d_l k(Z,y_p) for every pair of nodes."""
        indices = "bqrk,bprl->bqpkl" if full else "bqrk,bprk->bqpk"
        return torch.einsum(indices, self.w_k * self.s[:, None], other.w_k)

    def prior(self, other: "CurveNodes") -> Between:
        """The kernel between the nodes of two curves in each row, with derivatives in the raw inputs."""
        kernel, (b, q), p = self.posterior.kernel, self.line.t.shape, other.line.t.shape[1]
        X, Y = (nodes.jet.values.unflatten(0, nodes.line.t.shape) for nodes in (self, other))
        inner = stack([kernel.between_points(x, y) for x, y in zip(X, Y, strict=True)])

        def to_left(G: Float[Tensor, "b q p e"]) -> Float[Tensor, "b q p d"]:
            return self.jet.back(G.flatten(0, 1)).unflatten(0, (b, q))

        def to_right(G: Float[Tensor, "b q p e"]) -> Float[Tensor, "b q p d"]:
            return other.jet.back(G.transpose(1, 2).flatten(0, 1)).unflatten(0, (b, p)).transpose(1, 2)

        def by_both(full: bool) -> Float[Tensor, "b q p d *d"]:
            G = inner.by_both(True)
            e, d = G.shape[-1], self.line.d.shape[1]
            half = self.jet.back(G.permute(0, 1, 2, 4, 3).reshape(b * q, p * e, e)).view(b, q, p, e, -1)
            half = half.permute(0, 2, 1, 4, 3).reshape(b * p, -1, e)  # (b p, q d, e)
            matrix = other.jet.back(half).view(b, p, q, d, d).transpose(1, 2)
            return matrix if full else matrix.diagonal(dim1=3, dim2=4)

        return Between(inner.values, lambda: to_left(inner.by_x), lambda: to_right(inner.by_y), by_both)


def curve_split_pairs(nodes: CurveNodes) -> SplitPairs:
    """(5.13) at the nodes of curves, with the fitted part k A k separate from the prior."""

    def prior(left: Line, right: Line) -> Between:
        x = CurveNodes(nodes.curve, nodes.posterior, nodes.latent, left)
        return x.prior(x if right is left else CurveNodes(nodes.curve, nodes.posterior, nodes.latent, right))

    at = nodes.marginals
    return SplitPairs(
        at,
        torch.full_like(at.v, nodes.posterior.jitter),
        (nodes.w * nodes.s) @ nodes.w.mT,
        nodes.slopes(nodes.w),
        lambda H, full: nodes.gradient_sum(nodes, H, full),
        prior,
    )


def curve_pairs(x: CurveNodes, y: CurveNodes) -> Pairs:
    """The moments of the prior minus those of k A k, with one or both arguments differentiated  (5.13)."""
    prior, square = x.prior(y), x is y
    c_k = prior.by_x.transpose(1, 2) - x.slopes(y.w)
    return Pairs(
        x.marginals,
        y.marginals,
        prior.values - (x.w * x.s) @ y.w.mT,
        c_k,
        c_k if square else prior.by_y - y.slopes(x.w),
        lambda H, full: prior.by_both_sum(H, full=full) - x.gradient_sum(y, H, full),
        lambda full: prior.by_both(full) - x.gradients(y, full),
    )
