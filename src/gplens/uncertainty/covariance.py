"""Cov(IG_k, IG_l) of paths, by quadrature over pairs of their points (MATH 5.1, 5.2)."""

from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link
from gplens.lines.line import Line
from gplens.lines.pairs import Nodes, Pairs
from gplens.paths.panels import gain, gauss_kronrod, gauss_legendre
from gplens.processes.process import Process

Matrix = Float[Tensor, "b d *d"]
"""Features by features, or its diagonal."""


def covariance(
    process: Process,
    latent: int,
    link: Link,
    x0: Float[Tensor, "#b d"],
    x: Float[Tensor, "b d"],
    values: Float[Tensor, "b d"],
    order: int,
    *,
    full: bool,
) -> tuple[Matrix, Matrix]:
    """d_k d_l sum_qp w_q w_p (5.1) - IG_k IG_l  (5.2), and its error.

    That is the distance to the same with the Gauss nodes alone, times what the finer nodes are seen to gain on the
    attributions, which are known  (5.14a).
    """
    d, (t, w, _) = x - x0, map(torch.as_tensor, gauss_kronrod(order))
    gauss = map(torch.as_tensor, gauss_legendre(order))
    fine, first = _added(process, latent, link, _grid(process, x0, d, t, w), full=full)
    coarse, coarse_first = _added(process, latent, link, _grid(process, x0, d, *gauss), full=full)
    outer = d[:, :, None] * d[:, None] if full else d**2
    missed, coarsely_missed = (((d * one - values).abs()).amax(1) for one in (first, coarse_first))
    gained = gain(missed, coarsely_missed).view(-1, *[1] * (outer.ndim - 1))
    return outer * fine, gained * (outer * (fine - coarse)).abs()


def _added(
    process: Process, latent: int, link: Link, grid: "_Grid", *, full: bool
) -> tuple[Matrix, Float[Tensor, "b d"]]:
    """The covariance of IG_k / d_k and IG_l / d_l on a grid of pairs, and IG_k / d_k itself."""
    pairs = process.pairs(grid.left, grid.right, latent)
    weights = grid.double.expand_as(pairs.c)
    second = grid.of_paths(_sum(pairs, _Moments.of(link, pairs), weights, full=full))
    first = grid.of_paths(_slope(pairs.left, link, grid.single))
    if not full:
        return second - first**2, first
    return (second + second.mT) / 2 - first[:, :, None] * first[:, None], first


@final
@dataclass(frozen=True, eq=False)
class _Grid:
    """Pairs of nodes, `group` rows of them for each path, and their weights."""

    left: Line
    right: Line
    single: Float[Tensor, "r q"]
    """Weights of the left nodes, so that their sums are integrals over the path."""
    double: Float[Tensor, "r q p"]
    """Weights of the pairs, so that their sums are integrals over the unit square."""
    group: int

    def of_paths(self, rows: Float[Tensor, "r *rest"]) -> Float[Tensor, "b *rest"]:
        """The sums of the rows that belong to a path."""
        return rows.unflatten(0, (-1, self.group)).sum(1)


def _grid(process: Process, x0: Float[Tensor, "#b d"], d: Float[Tensor, "b d"], t: Tensor, w: Tensor) -> _Grid:
    """The nodes with themselves; or, where the kernel has a kink on t = t', each with nodes of its own below it (5.14).

    In the second case t' = t s, counted twice: the kink is an edge then.
    """
    q, b = len(t), len(d)
    if process.smooth:
        line = Line(x0, d, t.expand(b, -1))
        return _Grid(line, line, w[None], w[None, :, None] * w, 1)
    x0 = x0.repeat_interleave(q, 0) if len(x0) > 1 else x0
    d = d.repeat_interleave(q, 0)
    left, right = Line(x0, d, t.repeat(b)[:, None]), Line(x0, d, (t[:, None] * t).repeat(b, 1))
    double = 2 * (t * w)[:, None] * w
    return _Grid(left, right, w.repeat(b)[:, None], double.repeat(b, 1)[:, None], q)


def _slope(at: Nodes, link: Link, w: Float[Tensor, "#b q"]) -> Float[Tensor, "b d"]:
    """IG_k / d_k at the same nodes: sum_q w_q (E g' m_k + 1/2 E g'' v_k)  (4.1)."""
    _, slope, curvature = link.moments(at.m, at.v)
    by_m, by_v = (w * slope)[:, None], (w * curvature / 2)[:, None]
    return (by_m @ at.m_k + by_v @ at.v_k)[:, 0]


@final
class _Moments(NamedTuple):
    """E_ij of the pairs, left and right nodes not being the same."""

    E11: Float[Tensor, "b q p"]
    E12: Float[Tensor, "b q p"]
    E21: Float[Tensor, "b q p"]
    E13: Float[Tensor, "b q p"]
    E31: Float[Tensor, "b q p"]
    E22: Float[Tensor, "b q p"]

    @staticmethod
    def of(link: Link, pairs: Pairs) -> "_Moments":
        """The link's moments between all nodes, of which those between left and right are taken."""
        if pairs.square:
            E = link.pair_moments(pairs.left.m, pairs.left.v, pairs.c)
            return _Moments(E.E11, E.E12, E.E12.mT, E.E13, E.E13.mT, E.E22)
        x, y, (_, q, p) = pairs.left, pairs.right, pairs.c.shape
        m, v = torch.cat([x.m, y.m], dim=1), torch.cat([x.v, y.v], dim=1)
        c = torch.zeros(len(m), q + p, q + p, dtype=m.dtype)
        c[:, :q, q:], c[:, q:, :q] = pairs.c, pairs.c.mT
        E = link.pair_moments(m, v, c)
        across = [part[:, :q, q:] for part in E]
        back = [part[:, q:, :q].mT for part in E]
        return _Moments(across[0], across[1], back[1], across[2], back[2], across[3])


def _sum(pairs: Pairs, E: _Moments, w: Float[Tensor, "b q p"], *, full: bool) -> Matrix:
    """sum_qp w_qp (5.1): what is multiplied by m_k and v_k, by m_l' and v_l', then c_k c_l' and c_kl'."""
    x, y, c_k, c_l = pairs.left, pairs.right, pairs.c_k, pairs.c_l
    weighted = _Moments(*(w * part for part in E))
    by_m = weighted.E11 @ y.m_k + weighted.E12 @ y.v_k / 2 + _over(weighted.E21, c_l)
    by_v = weighted.E21 @ y.m_k / 2 + weighted.E22 @ y.v_k / 4 + _over(weighted.E31, c_l) / 2
    to_m, to_v = _over(weighted.E12.mT, c_k), _over(weighted.E13.mT, c_k) / 2
    products = [(x.m_k, by_m), (x.v_k, by_v), (to_m, y.m_k), (to_v, y.v_k)]
    products += [((weighted.E22[..., None] * c_k.transpose(1, 2)).flatten(1, 2), c_l.flatten(1, 2))]
    total = pairs.gradients(weighted.E11, full)
    return total + torch.stack([a.mT @ b if full else (a * b).sum(1) for a, b in products]).sum(0)


def _over(weights: Float[Tensor, "b p q"], c: Float[Tensor, "b p q d"]) -> Float[Tensor, "b p d"]:
    """The weighted sum over the nodes at which the gradient is taken."""
    return (weights[:, :, None] @ c)[:, :, 0]
