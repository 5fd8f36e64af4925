"""Latent functions of smoothly transformed inputs, explained in the raw ones: the path is a curve (MATH 1.12)."""

from dataclasses import replace
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.forms import Form
from gplens.lines.line import Line
from gplens.lines.pairs import NodeMarginals, Pairs, SplitPairs
from gplens.processes.category_blocks import blocks_behind
from gplens.processes.crossings import slowed
from gplens.processes.curved_pairs import CurveNodes, curve_pairs, curve_split_pairs, posterior_of
from gplens.processes.latent_sources import Sources
from gplens.processes.process import Blocks, Marginals, Process
from gplens.processes.smooth_map import MapJet, SmoothMap
from gplens.processes.wrapping import Wrapping

CHORDS = 32
"""The number of chords by which the length of a curve is measured."""


@final
class Curved(Wrapping):
    """f(phi(x)):  d_k = sum_j J_jk d_j', with the Jacobian J of phi at every node  (1.12).

    Every node is passed to the base as a line with one node, and every pair of nodes as the line between the two, so
    that the formulas of the base hold. It costs q times one node, whereas the nodes of a straight line share work.
    """

    def __init__(self, base: Process, phi: SmoothMap) -> None:
        if phi.outputs != base.features:
            raise ValueError(f"Curved: expected a map to {base.features} columns, got one to {phi.outputs}.")
        self.base, self.phi = base, phi

    @property
    def features(self) -> int:
        return self.phi.inputs

    @property
    def width(self) -> int:
        return self.base.width + 4 * (self.phi.inputs + self.phi.outputs)

    @property
    def categories(self) -> Blocks:
        return blocks_behind(self.base.categories, self.phi.depends)

    @property
    def rounded(self) -> tuple[int, ...]:
        return ()

    def kinks(self, line: Line) -> Float[Tensor, "b k"]:
        """Where the line crosses a kink of phi."""
        return line.d.new_empty(len(line.d), 0) if self.phi.levels is None else self.phi.levels.crossings(line)

    @property
    def cuts(self) -> int:
        """No limit: the slope jumps at every kink."""
        return 10**6

    def along(self, line: Line) -> "CurvedMarginals":
        return CurvedMarginals(self, line)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """The sum over chords of the curve."""
        t = torch.linspace(0, 1, CHORDS + 1, dtype=line.d.dtype).expand(len(line.d), -1)
        x = self.at(Line(line.x0, line.d, t)).values.unflatten(0, t.shape)
        start, d = x[:, :-1].flatten(0, 1), x.diff(dim=1).flatten(0, 1)
        return self.base.length(Line(start, d, d.new_zeros(len(d), 0))).unflatten(0, (-1, CHORDS)).sum(1)

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """The fitted part at every node for a posterior and a map without kinks; else the base at every pair."""
        if (x := self._nodes(left, latent)) is None:
            return self._pairs(left, right, latent)
        y = x if right is left else self._nodes(right, latent)
        assert y is not None
        return curve_pairs(x, y)

    def split_pairs(self, line: Line, latent: int) -> SplitPairs:
        nodes = self._nodes(line, latent)
        return super().split_pairs(line, latent) if nodes is None else curve_split_pairs(nodes)

    def _nodes(self, line: Line, latent: int) -> CurveNodes | None:
        inner = posterior_of(self.base, latent) if self.phi.levels is None else None
        return None if inner is None else CurveNodes(self, *inner, line)

    def _pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """The base at every pair of nodes, on the line between them, with the chain rule for every derivative.

        Nodes are denser near kinks, where gradients jump: t = tau(s), and gradients are multiplied by tau'(s)  (5.18).
        """
        square, (left, left_rate) = right is left, self._slowed(left)
        right, right_rate = (left, left_rate) if square else self._slowed(right)
        x, y = self.at(left), self.at(right)
        (b, q), p, e = left.t.shape, right.t.shape[1], self.phi.outputs
        start = x.values.view(b, q, 1, e).expand(b, q, p, e).reshape(-1, e)
        d = y.values.view(b, 1, p, e).expand(b, q, p, e).reshape(-1, e) - start
        zero = d.new_zeros(len(d), 1)
        inner = self.base.pairs(Line(start, d, zero), Line(start, d, zero + 1), latent)
        rates = left_rate[:, :, None] * right_rate[:, None]

        def to_left(G: Float[Tensor, "b q p r e"]) -> Float[Tensor, "b q p r d"]:
            return x.back(G.flatten(0, 1).flatten(1, 2)).unflatten(1, (p, -1)).unflatten(0, (b, q))

        def to_right(G: Float[Tensor, "b q p r e"]) -> Float[Tensor, "b q p r d"]:
            swapped = G.transpose(1, 2)
            pulled = y.back(swapped.flatten(0, 1).flatten(1, 2)).unflatten(1, (q, -1)).unflatten(0, (b, p))
            return pulled.transpose(1, 2)

        def both(G: Float[Tensor, "r e e"]) -> Float[Tensor, "b q p d d"]:
            return to_left(to_right(G.view(b, q, p, e, e)).mT).mT

        def gradient_sum(H: Float[Tensor, "b q p"], full: bool) -> Float[Tensor, "b d *d"]:
            total = both(inner.gradient_sum((H * rates).reshape(-1, 1, 1), True)).sum((1, 2))
            return total if full else total.diagonal(dim1=1, dim2=2)

        def gradients(full: bool) -> Float[Tensor, "b q p d *d"]:
            matrices = both(inner.gradients(True)[:, 0, 0]) * rates[..., None, None]
            return matrices if full else matrices.diagonal(dim1=3, dim2=4)

        c_k = (left_rate[:, :, None, None] * to_left(inner.c_k.view(b, q, p, 1, e))[:, :, :, 0]).transpose(1, 2)
        c_l = c_k if square else right_rate[:, None, :, None] * to_right(inner.c_l.view(b, q, p, 1, e))[:, :, :, 0]
        at_left = _at_nodes(inner.left, x, left_rate, (b, q, p), 2)
        at_right = at_left if square else _at_nodes(inner.right, y, right_rate, (b, q, p), 1)
        return Pairs(at_left, at_right, inner.c.view(b, q, p), c_k, c_l, gradient_sum, gradients)

    def _slowed(self, line: Line) -> tuple[Line, Float[Tensor, "b q"]]:
        """The same lines with nodes tau(s) in place of s, and tau'(s)."""
        t, rate = slowed(line.t, self.kinks(line))
        return Line(line.x0, line.d, t), rate

    def select(self, latents: tuple[int, ...]) -> "Curved":
        return Curved(self.base.select(latents), self.phi)

    def prior_variance(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c"] | None:
        return self.base.prior_variance(self.phi(X))

    def sources(self) -> Sources | None:
        """The sources of the base, in the raw inputs."""
        inner = self.base.sources()
        return None if inner is None else replace(inner, process=Curved(inner.process, self.phi))

    def at(self, line: Line) -> MapJet:
        """phi at all nodes of all lines, as one table."""
        return defined_at(self.phi, line.points().flatten(0, 1))


def defined_at(phi: SmoothMap, x: Float[Tensor, "k d"]) -> MapJet:
    """phi at points. Raises a ValueError where it is not a finite number."""
    jet = phi.at(x)
    finite = jet.values.isfinite()
    if not bool(finite.all()):
        row, column = (~finite).nonzero()[0].tolist()
        given = ", ".join(f"{float(x[row, k]):.6g}" for k in phi.depends[:, column].nonzero()[:, 0])
        raise ValueError(
            "expected finite numbers from the steps before the model, from the baseline to the input, got "
            f"{float(jet.values[row, column])} for {given}; choose inputs and a baseline between which every step is "
            "defined: above zero for a logarithm."
        )
    return jet


def _at_nodes(
    pairs: NodeMarginals, at: MapJet, rate: Float[Tensor, "b q"], shape: tuple[int, int, int], other: int
) -> NodeMarginals:
    """The marginals of the nodes on one side of all pairs, pulled back; `other` is the axis of the other side."""
    m, v = (part.view(shape).select(other, 0) for part in (pairs.m, pairs.v))
    gradients = torch.stack([pairs.m_k[:, 0], pairs.v_k[:, 0]], dim=1).unflatten(0, shape).select(other, 0)
    m_k, v_k = at.back(gradients.flatten(0, 1)).unflatten(0, m.shape).unbind(2)
    return NodeMarginals(m, v, rate[..., None] * m_k, rate[..., None] * v_k)


@final
class CurvedMarginals(Marginals):
    """Marginals of the base at every node, pulled back to the raw inputs."""

    def __init__(self, process: Curved, line: Line) -> None:
        self.process, self.shape = process, line.t.shape
        self.jet = process.at(line)

    @cached_property
    def base(self) -> Marginals:
        """The base at the nodes, each passed as a line with one node."""
        return self.process.base.along(Line.at(self.jet.values))

    def means(self) -> Float[Tensor, "b c q"]:
        return self.base.m[:, :, 0].unflatten(0, self.shape).mT

    def variances(self) -> Float[Tensor, "b c q"]:
        return self.base.v[:, :, 0].unflatten(0, self.shape).mT

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        by_node = [None if w is None else w.permute(0, 3, 1, 2).flatten(0, 1)[..., None] for w in (wm, wv)]
        assert by_node[0] is not None
        out = wm.new_empty(len(self.jet.values), wm.shape[1], self.process.phi.outputs)
        inner = self.base.pull_back(by_node[0], by_node[1]).evaluate(out)
        return Form(dense=(self.jet.back(inner).unflatten(0, self.shape).sum(1),))  # (1.12)
