"""Cov(IG_k, IG_l) of paths, by quadrature over pairs of their points (MATH 5.1, 5.2)."""

from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link
from gplens.lines.line import Line
from gplens.lines.pairs import NodeMarginals, Pairs
from gplens.lines.units import power_of_two
from gplens.paths.panels import gain, gauss_kronrod, gauss_legendre
from gplens.processes.process import Process

Matrix = Float[Tensor, "b d *d"]
"""A matrix over pairs of features, or its diagonal."""


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
) -> tuple[Matrix, Matrix, Float[Tensor, " b"]]:
    """d_k d_l sum_qp w_q w_p (5.1) - IG_k IG_l  (5.2) at Kronrod's nodes, its estimated error, and their unit.

    Both are in units of unit^2, because the squares of very small and very large attributions are lost.

    The error is the distance to the result at Gauss's nodes, times the gain of Kronrod's nodes on the attributions
    `values`, which are known  (5.14a).
    """
    d, (t, w, _) = x - x0, map(torch.as_tensor, gauss_kronrod(order))
    gauss = map(torch.as_tensor, gauss_legendre(order))
    grid = _grid(process, x0, d, t, w)
    pairs = process.pairs(grid.left, grid.right, latent)
    unit = _unit(link, pairs.left, grid)
    fine, fine_first = _scaled_covariance(pairs, link, grid, unit, full=full)
    grid = _grid(process, x0, d, *gauss)
    pairs = process.pairs(grid.left, grid.right, latent)
    coarse, coarse_first = _scaled_covariance(pairs, link, grid, unit, full=full)
    scaled = values / unit[:, None]
    fine_miss, coarse_miss = ((d * first - scaled).abs().amax(1) for first in (fine_first, coarse_first))
    part = gain(fine_miss, coarse_miss, coarse_miss, smooth=process.smooth).view(-1, *[1] * (fine.ndim - 1))
    outer = d[:, :, None] * d[:, None] if full else d**2
    error = coarse.sub_(fine).mul_(outer).abs_().mul_(part)
    return fine.mul_(outer), error, unit


def _unit(link: Link, at: NodeMarginals, grid: "_Grid") -> Float[Tensor, " b"]:
    """The largest E g' or sd E g'' on each path."""
    _, slope, curvature = link.moments(at.m, at.v)
    size = torch.maximum(slope.abs(), curvature.abs() * at.v.sqrt()).amax(1)
    return power_of_two(size.unflatten(0, (-1, grid.group)).amax(1))


def _scaled_covariance(
    pairs: Pairs, link: Link, grid: "_Grid", unit: Float[Tensor, " b"], *, full: bool
) -> tuple[Matrix, Float[Tensor, "b d"]]:
    """The covariance of IG_k / d_k and IG_l / d_l on a grid of pairs, and IG_k / d_k itself, in units."""
    weights, units = grid.double.expand_as(pairs.c), unit.repeat_interleave(grid.group)
    second = grid.sum_of_paths(_second_moment(pairs, _PairMoments.of(link, pairs, units), weights, full=full))
    first = grid.sum_of_paths(_first_moment(pairs.left, link, grid.single, units))
    if not full:
        return second - first**2, first
    second = (second + second.mT).div_(2)
    return second.sub_(first[:, :, None] * first[:, None]), first


@final
@dataclass(frozen=True, eq=False)
class _Grid:
    """Pairs of nodes, in `group` rows for each path, and their weights."""

    left: Line
    right: Line
    single: Float[Tensor, "r q"]
    """Weights of the left nodes; their sums are integrals over the path."""
    double: Float[Tensor, "r q p"]
    """Weights of the pairs; their sums are integrals over the unit square."""
    group: int

    def sum_of_paths(self, rows: Float[Tensor, "r *rest"]) -> Float[Tensor, "b *rest"]:
        """The sums over the rows that belong to a path."""
        return rows.unflatten(0, (-1, self.group)).sum(1)


def _grid(process: Process, x0: Float[Tensor, "#b d"], d: Float[Tensor, "b d"], t: Tensor, w: Tensor) -> _Grid:
    """All pairs of the nodes; or, if the kernel has a kink at t = t', each node with nodes t' = t s below it (5.14).

    The second grid is counted twice, by symmetry, and has the kink on its edge.
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


def _first_moment(
    at: NodeMarginals, link: Link, w: Float[Tensor, "#b q"], unit: Float[Tensor, " b"]
) -> Float[Tensor, "b d"]:
    """IG_k / d_k at the same nodes: sum_q w_q (E g' m_k + 1/2 E g'' v_k)  (4.1)."""
    _, slope, curvature = (part / unit[:, None] for part in link.moments(at.m, at.v))
    by_m, by_v = (w * slope)[:, None], (w * curvature / 2)[:, None]
    return (by_m @ at.m_k + by_v @ at.v_k)[:, 0]


@final
class _PairMoments(NamedTuple):
    """E_ij of the pairs; unlike those of a link, left and right nodes need not be the same."""

    E11: Float[Tensor, "b q p"]
    E12: Float[Tensor, "b q p"]
    E21: Float[Tensor, "b q p"]
    E13: Float[Tensor, "b q p"]
    E31: Float[Tensor, "b q p"]
    E22: Float[Tensor, "b q p"]

    @staticmethod
    def of(link: Link, pairs: Pairs, unit: Float[Tensor, " b"]) -> "_PairMoments":
        """The moments of g/unit between all nodes, restricted to those between left and right."""
        if pairs.square:
            E = link.scaled_pair_moments(pairs.left.m, pairs.left.v, pairs.c, unit)
            return _PairMoments(E.E11, E.E12, E.E12.mT, E.E13, E.E13.mT, E.E22)
        x, y, (_, q, p) = pairs.left, pairs.right, pairs.c.shape
        m, v = torch.cat([x.m, y.m], dim=1), torch.cat([x.v, y.v], dim=1)
        c = torch.zeros(len(m), q + p, q + p, dtype=m.dtype)
        c[:, :q, q:], c[:, q:, :q] = pairs.c, pairs.c.mT
        E = link.scaled_pair_moments(m, v, c, unit)
        across = [part[:, :q, q:] for part in E]
        back = [part[:, q:, :q].mT for part in E]
        return _PairMoments(across[0], across[1], back[1], across[2], back[2], across[3])


def _second_moment(pairs: Pairs, E: _PairMoments, w: Float[Tensor, "b q p"], *, full: bool) -> Matrix:
    """sum_qp w_qp (5.1): the terms with m_k and v_k, those with m_l' and v_l', then c_k c_l' and c_kl'."""
    x, y, c_k, c_l = pairs.left, pairs.right, pairs.c_k, pairs.c_l
    weighted = _PairMoments(*(w * part for part in E))
    by_m = weighted.E11 @ y.m_k + weighted.E12 @ y.v_k / 2 + _weighted_sum(weighted.E21, c_l)
    by_v = weighted.E21 @ y.m_k / 2 + weighted.E22 @ y.v_k / 4 + _weighted_sum(weighted.E31, c_l) / 2
    to_m, to_v = _weighted_sum(weighted.E12.mT, c_k), _weighted_sum(weighted.E13.mT, c_k) / 2
    products = [(x.m_k, by_m), (x.v_k, by_v), (to_m, y.m_k), (to_v, y.v_k)]
    products += [((weighted.E22[..., None] * c_k.transpose(1, 2)).flatten(1, 2), c_l.flatten(1, 2))]
    total = pairs.gradient_sum(weighted.E11, full)
    for a, b in products:
        total = torch.baddbmm(total, a.mT, b) if full else total + (a * b).sum(1)
    return total


def _weighted_sum(weights: Float[Tensor, "b p q"], c: Float[Tensor, "b p q d"]) -> Float[Tensor, "b p d"]:
    """The weighted sum over the nodes at which the gradient is taken."""
    return (weights[:, :, None] @ c)[:, :, 0]
