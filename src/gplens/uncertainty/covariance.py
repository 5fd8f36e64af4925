"""Cov(IG_k, IG_l) of paths, by quadrature over pairs of their points (MATH 5.1, 5.2)."""

from typing import NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link, Moments, PairMoments
from gplens.lines.between import Between
from gplens.lines.line import Line
from gplens.lines.pairs import NodeMarginals, SplitPairs
from gplens.lines.units import power_of_two
from gplens.processes.process import Process
from gplens.uncertainty.grid import Grid

Matrix = Float[Tensor, "b d *d"]
"""A matrix over pairs of features, or its diagonal."""
Unit = Float[Tensor, " b"]


def covariance(
    process: Process,
    latent: int,
    link: Link,
    x0: Float[Tensor, "#b d"],
    d: Float[Tensor, "b d"],
    grid: Grid,
    unit: Unit | None,
    *,
    full: bool,
) -> tuple[Matrix, Unit]:
    """d_k d_l sum_qp W_qp ((5.1) - E[d_k g] E[d_l' g])  (5.2), in units of unit^2, and the unit, if it is not given.

    Without a unit, squares of very small attributions would underflow, and those of very large ones overflow.
    """
    split = process.split_pairs(Line(x0, d, grid.latent), latent)
    line = Line(x0, d, grid.t)
    prior = split.prior(line, line)
    at, c = _at_nodes(split, prior, grid)
    moments = link.moments(at.m, at.v)
    unit = _unit(moments, at) if unit is None else unit
    E = link.scaled_pair_moments(at.m, at.v, c, unit)
    H = grid.W * E.E11
    total = prior.by_both_sum(H, full=full) - split.gradient_sum(grid.gathered_pairs(H), full)  # (5.14a)
    if link.needs_variance:  # else g is linear, and (5.1) is E11 c_kl' beyond the product of the means
        c_l = prior.by_y.mT
        if split.c_l is not None:
            fitted = _interpolated_slopes(split.c_l, grid)
            c_l = torch.sub(c_l, fitted, out=fitted)
        total = _with_other_terms(
            total, at, c_l, _Weighted.of(grid, E), mean_slopes(moments, at, unit), grid, full=full
        )
    if not full:
        return d**2 * total, unit
    return (total + total.mT).div_(2).mul_(d[:, :, None] * d[:, None]), unit


def _at_nodes(split: SplitPairs, prior: Between, grid: Grid) -> tuple[NodeMarginals, Float[Tensor, "b f f"]]:
    """Marginals and covariances at the nodes of the integrand.

    v is taken from the diagonal of c, so that both belong to one Gaussian, up to the error of interpolation. Where this
    error violates v >= 0 or |c| <= sqrt(v v'), they are clipped; the effect is part of the stated error of the result.
    """
    c = prior.values if split.c is None else prior.values - grid.interpolated_pairs(split.c)  # (5.14)
    v = (c.diagonal(dim1=1, dim2=2) + grid.interpolated(split.jitter)).clamp(min=0)
    sd = v.sqrt()
    bound = sd[:, :, None] * sd[:, None]
    m_k, v_k = (grid.interpolated(part.mT).mT for part in (split.at.m_k, split.at.v_k))
    return NodeMarginals(grid.interpolated(split.at.m), v, m_k, v_k), torch.minimum(torch.maximum(c, -bound), bound)


def _interpolated_slopes(c_l: Float[Tensor, "b n n d"], grid: Grid) -> Float[Tensor, "b f d f"]:
    """Cov(f_q, d_l f_p) from pairs of latent nodes to all pairs of nodes, with the axis p last."""
    b, n, _, d = c_l.shape
    panels = c_l.reshape(b, -1, grid.L.shape[1], n * d)
    return grid.interpolated((grid.L @ panels).view(b, -1, n, d).transpose(2, 3))


def _unit(moments: Moments, at: NodeMarginals) -> Unit:
    """The largest E g' or sd E g'' on each path."""
    _, slope, curvature = moments
    return power_of_two(torch.maximum(slope.abs(), curvature.abs() * at.v.sqrt()).amax(1))


def mean_slopes(moments: Moments, at: NodeMarginals, unit: Unit) -> Float[Tensor, "b f d"]:
    """d_k E g(f) = E g' m_k + 1/2 E g'' v_k  (4.1), in units."""
    _, slope, curvature = ((part / unit[:, None])[..., None] for part in moments)
    return slope * at.m_k + curvature / 2 * at.v_k


@final
class _Weighted(NamedTuple):
    """The moments E_ij of the pairs of nodes, times their weights."""

    E11: Float[Tensor, "b f f"]
    E12: Float[Tensor, "b f f"]
    E21: Float[Tensor, "b f f"]
    E31: Float[Tensor, "b f f"]
    E22: Float[Tensor, "b f f"]

    @staticmethod
    def of(grid: Grid, E: PairMoments) -> "_Weighted":
        W = grid.W
        return _Weighted(W * E.E11, W * E.E12, W * E.E12.mT, W * E.E13.mT, W * E.E22)


def _with_other_terms(
    total: Matrix,
    at: NodeMarginals,
    c_l: Float[Tensor, "b f d f"],
    E: _Weighted,
    slopes: Float[Tensor, "b f d"],
    grid: Grid,
    *,
    full: bool,
) -> Matrix:
    """The terms of (5.1) other than c_kl', minus the product of the means.

    The weights are symmetric, so that the terms with c_k are the transposes of those with c_l'.
    """
    m_k, v_k = at.m_k, at.v_k
    by_m, by_v = (c_l @ torch.stack([E.E21, E.E31 / 2], dim=3)).unbind(3)  # sums over the nodes of the gradient
    products = [
        (m_k, E.E11 @ m_k + E.E12 @ v_k / 2 + by_m),
        (v_k, E.E21 @ m_k / 2 + E.E22 @ v_k / 4 + by_v),
        (by_m, m_k),
        (by_v, v_k),
        (slopes, -(grid.W @ slopes)),
    ]
    for a, b in products:
        total = torch.baddbmm(total, a.mT, b) if full else total + (a * b).sum(1)
    weighted, c_k = E.E22[:, :, None] * c_l, c_l.permute(0, 3, 2, 1)  # Cov(d_k f_q, f_p) at [q, k, p]
    if not full:
        return total + (weighted * c_k).sum((1, 3))
    return torch.baddbmm(total, c_k.transpose(1, 2).flatten(2), weighted.transpose(1, 2).flatten(2).mT)
