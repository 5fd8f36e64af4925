"""The nodes of the paths of one input, and the Gaussian vector from which its attributions follow (MATH 5.24)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import final

import torch
from jaxtyping import Float
from numpy.polynomial import legendre
from torch import Tensor

from gplens.lines.line import Line
from gplens.paths.panels import gauss_kronrod
from gplens.processes.process import Process
from gplens.uncertainty.draw_nodes import REACH
from gplens.uncertainty.grid import equal_panels

ORDERS = (4, 7)
"""The order of the Gauss-Kronrod rule on a panel: for attributions that are linear in f and for rough f, whose
gradients are averaged around the nodes; and for smooth f through a link."""
FINE_ORDER, FINER = 4, 4
"""The order for gradients of rough functions, and by how much their panels are shorter."""

Sets = Sequence[Sequence[int]]


@final
@dataclass(frozen=True, eq=False)
class RowNodes:
    """All paths of one input: one to each of its baselines.

    Its vector y has f at the nodes t_q, and for each attribution the sum of d_k d_k f over its features, averaged
    around the nodes if f is rough  (5.15a), all times w_q^1/2, so that its squares add up to integrals over the path.
    y = S z, with z the same at the points where f is evaluated, without the weights.
    """

    x: Float[Tensor, "p d"]
    """The points."""
    D: Float[Tensor, "p g d"]
    """The matrix that adds up d_k times the derivatives in the features of each attribution."""
    nodes: Float[Tensor, " p"]
    """Whether a point is one of the nodes: 1 or 0."""
    w: Float[Tensor, " q"]
    """The weights of the nodes, times the share of their baseline in the average."""
    A: Float[Tensor, "q p"]
    """Averages of gradients around the nodes."""

    @staticmethod
    def on(
        process: Process,
        x0: Float[Tensor, "s d"],
        x: Float[Tensor, " d"],
        shares: Float[Tensor, " s"] | None,
        sets: Sets | None,
        *,
        linear: bool,
    ) -> "RowNodes":
        """On panels of up to 2.5 lengthscales of each path."""
        d = x - x0
        lengths = process.length(Line(x0, d, d.new_zeros(len(d), 0))).tolist()
        add = torch.eye(len(x), dtype=x.dtype) if sets is None else x.new_zeros(len(sets), len(x))
        for s, members in enumerate(sets or ()):
            add[s, list(members)] = 1.0
        points, steps, nodes, weights, averages = [], [], [], [], []
        parts = [1 / len(x0)] * len(x0) if shares is None else shares.tolist()
        for start, step, length, share in zip(x0, d, lengths, parts, strict=True):
            t, w, of_nodes, A = _rule(
                max(1, ceil(length / REACH)), ORDERS[not linear and process.smooth], smooth=process.smooth
            )
            points.append(start + t[:, None] * step)
            steps.append((add * step).expand(len(t), -1, -1))
            nodes.append(of_nodes)
            weights.append(share * w)
            averages.append(A)
        x, D, is_node, w = (torch.cat(parts) for parts in (points, steps, nodes, weights))
        return RowNodes(x, D, is_node, w, torch.block_diag(*averages))

    @property
    def size(self) -> int:
        """The length of z."""
        return len(self.x) * (1 + self.D.shape[1])

    def vectors(self) -> Float[Tensor, "y z"]:
        """The vectors S of a quadratic form in z, for each node and derivative."""
        (q, p), g = self.A.shape, self.D.shape[1]
        S = self.w.new_zeros(q, 1 + g, p, 1 + g)
        places = self.nodes.nonzero()[:, 0]
        S[range(q), 0, places, 0] = 1.0
        S[:, range(1, 1 + g), :, range(1, 1 + g)] = self.A
        return (self.w.sqrt()[:, None, None, None] * S).flatten(2).flatten(0, 1)

    def integrals(self) -> Float[Tensor, "g z"]:
        """IG_k = sum_q w_q d_k d_k f_q  of a linear target, in z."""
        g, p = self.D.shape[1], len(self.x)
        weights = self.w.new_zeros(g, p, 1 + g)
        weights[range(g), :, range(1, 1 + g)] = self.w @ self.A
        return weights.flatten(1)


def _rule(panels: int, order: int, *, smooth: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Points, weights of the nodes among the points, which points are nodes, and the averages of gradients."""
    t, w = _kronrod(panels, order)
    if smooth:
        return t, w, torch.ones_like(t), torch.eye(len(t), dtype=t.dtype)
    fine, fine_w = _kronrod(FINER * panels, FINE_ORDER)
    nodes, of_panel = gauss_kronrod(order)[0], fine[: len(fine) // panels] * panels
    series = torch.as_tensor(legendre.legvander(2 * nodes - 1, len(nodes) - 1)).inverse()
    basis = torch.as_tensor(legendre.legvander(2 * of_panel.numpy() - 1, len(nodes) - 1)) @ series
    A = torch.block_diag(*[basis.T] * panels) * fine_w / w[:, None]
    is_node = torch.cat([torch.ones_like(t), torch.zeros_like(fine)])
    return torch.cat([t, fine]), w, is_node, torch.cat([torch.zeros(len(t), len(t), dtype=t.dtype), A], dim=1)


def _kronrod(panels: int, order: int) -> tuple[Float[Tensor, " q"], Float[Tensor, " q"]]:
    edges = equal_panels(panels, 1)[0]
    t, w = (torch.as_tensor(part) for part in gauss_kronrod(order)[:2])
    width = edges.diff()[:, None]
    return (edges[:-1, None] + width * t).flatten(), (width * w).flatten()


def check_size_of(got: int, most: int, what: str, inputs: int) -> None:
    """Refuse more inputs than can be drawn together."""
    if got > most:
        raise ValueError(
            f"expected at most {most:,} {what} for draws that are joint over the inputs, got {got:,} of {inputs:,} "
            f"inputs. Explain a random sample of about {max(1, inputs * most // got):,} inputs, or group features."
        )
