"""Covariances of averages over several paths to one input, within each path and between paths (MATH 5.20)."""

from typing import NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link
from gplens.lines.line import Line
from gplens.lines.pairs import Pairs
from gplens.processes.bundle import Bundle
from gplens.processes.process import Process, rows_in_a_block
from gplens.uncertainty.covariance import Matrix, Unit, covariance, mean_slopes
from gplens.uncertainty.grid import Grid, numbers_on_pairs


def bundle_covariance(
    bundle: Bundle, latent: int, link: Link, grid: Grid, unit: Unit | None, *, full: bool
) -> tuple[Float[Tensor, "1 g *g"], Unit]:
    """sum_ij a_i a_j Cov(IG^(i)_k, IG^(j)_l)  (5.20), in units of unit^2, with the same nodes t on every path.

    Different paths meet only at the input, so that the integrand between them has no ridge: the latent nodes suffice.
    """
    wide, s = full or bundle.sets is not None, bundle.paths
    block = rows_in_a_block(numbers_on_pairs(bundle.base, grid.t.shape[1]))
    alone = [
        covariance(bundle.base, latent, link, *rows, grid.repeated(len(rows[0])), None, full=wide)
        for rows in zip(bundle.baselines.split(block), bundle.d.split(block), strict=True)
    ]
    matrices, units = (torch.cat(parts) for parts in zip(*alone, strict=True))
    unit = units.max().reshape(1) if unit is None else unit
    weights = (bundle.shares * units / unit) ** 2
    total = torch.tensordot(weights, matrices, 1)
    w, pairs = grid.gathered(grid.weights), torch.triu_indices(s, s, 1)
    for i, j in zip(*(index.split(block) for index in pairs), strict=True) if s > 1 else ():
        left, right = (Line(bundle.baselines[k], bundle.d[k], grid.latent.expand(len(k), -1)) for k in (i, j))
        between = _between(bundle.base, latent, link, left, right, w, unit.expand(len(i)), full=wide)
        crossed = torch.tensordot(bundle.shares[i] * bundle.shares[j], between, 1)
        total = total + crossed + (crossed.mT if wide else crossed)
    return bundle.summed(total[None], full), unit


def _between(
    process: Process,
    latent: int,
    link: Link,
    left: Line,
    right: Line,
    w: Float[Tensor, "1 q"],
    unit: Unit,
    *,
    full: bool,
) -> Matrix:
    """Cov(IG_k, IG'_l) of two paths in each row: (5.1) with t on one, t' on the other, minus the product of means."""
    pairs, W = process.pairs(left, right, latent), w.mT * w
    E = _Moments.of(link, pairs, W, unit)
    total = pairs.gradient_sum(E.E11, full)
    if link.needs_variance:  # else g is linear, and (5.1) is E11 c_kl' beyond the product of the means
        total = _with_other_terms(total, link, pairs, E, W, unit, full=full)
    return total * (left.d[:, :, None] * right.d[:, None] if full else left.d * right.d)


@final
class _Moments(NamedTuple):
    """The moments E_ij between the nodes of two paths, times their weights."""

    E11: Float[Tensor, "b q p"]
    E12: Float[Tensor, "b q p"]
    E21: Float[Tensor, "b q p"]
    E13: Float[Tensor, "b q p"]
    E31: Float[Tensor, "b q p"]
    E22: Float[Tensor, "b q p"]

    @staticmethod
    def of(link: Link, pairs: Pairs, W: Float[Tensor, "q p"], unit: Unit) -> "_Moments":
        """From the moments at the nodes of both paths together, the pairs with one node on each path."""
        x, y = pairs.left, pairs.right
        bound = (x.v[:, :, None] * y.v[:, None]).sqrt()
        c = torch.minimum(torch.maximum(pairs.c, -bound), bound)
        zero = torch.zeros_like(c)
        square = torch.cat([torch.cat([zero, c], dim=2), torch.cat([c.mT, zero], dim=2)], dim=1)
        m, v, q = torch.cat([x.m, y.m], dim=1), torch.cat([x.v, y.v], dim=1), x.m.shape[1]
        E = link.scaled_pair_moments(m, v, square, unit)
        (E11, _), (E12, E21), (E13, E31), (E22, _) = ((part[:, :q, q:], part[:, q:, :q].mT) for part in E)
        return _Moments(*(W * part for part in (E11, E12, E21, E13, E31, E22)))


def _with_other_terms(
    total: Matrix, link: Link, pairs: Pairs, E: _Moments, W: Float[Tensor, "q p"], unit: Unit, *, full: bool
) -> Matrix:
    """The terms of (5.1) other than c_kl', minus the product of the means."""
    x, y = pairs.left, pairs.right
    by_m, by_v = (torch.einsum("bqp,bqpd->bqd", part, pairs.c_l) for part in (E.E21, E.E31 / 2))
    m_by, v_by = (torch.einsum("bqp,bpqd->bpd", part, pairs.c_k) for part in (E.E12, E.E13 / 2))
    slopes = [mean_slopes(link.moments(at.m, at.v), at, unit) for at in (x, y)]
    products = [
        (x.m_k, E.E11 @ y.m_k + E.E12 @ y.v_k / 2 + by_m),
        (x.v_k, E.E21 @ y.m_k / 2 + E.E22 @ y.v_k / 4 + by_v),
        (m_by, y.m_k),
        (v_by, y.v_k),
        (slopes[0], -(W @ slopes[1])),
    ]
    for a, b in products:
        total = total + (a.mT @ b if full else (a * b).sum(1))
    weighted, c_k = E.E22[..., None] * pairs.c_l, pairs.c_k.transpose(1, 2)
    if not full:
        return total + (weighted * c_k).sum((1, 2))
    return total + c_k.flatten(1, 2).mT @ weighted.flatten(1, 2)
