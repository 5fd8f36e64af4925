"""Sums over whole paths of many features: attributions of every feature, and what tells their error (MATH 4.18a)."""

from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.forms import Form
from gplens.paths.path_psi import NodeWeights
from gplens.paths.path_rules import MOMENTS
from gplens.processes.process import Marginals

PROBES = 3
"""Random combinations of features, which tell whether features cancel in the sums."""
MOST_MOVING = 0.8
"""The part of the features that move up to which products are restricted to them, since rows of support points are
copied for that. Recipe: benchmarks/run.py --only mnist; between 0.7 and 0.9 nothing changes."""


def sums_of_many_features(
    weights: NodeWeights, marginals: Marginals, d: Float[Tensor, "b d"]
) -> tuple[Float[Tensor, "b o d"], Float[Tensor, "b l o"], Float[Tensor, "b o"]]:
    """The integrals, all sums of the rule summed over features, and the size of the last ones over combinations.

    Only the integrals are multiplied out, in the features that move on any of the paths. The other sums need no more
    than the derivatives of m and v in a few directions at the nodes.
    """
    columns = _moving(d)
    moved = d[:, columns]
    V = (moved[:, None] * _directions(d.shape[1])[:, columns]).contiguous()
    slopes = marginals.slopes(V, columns, variances=weights.by_v is not None)
    if slopes is None:
        form, (_, sums, outputs) = weights.pulled_back(marginals), weights.by_m.shape[:3]
        rest = form.channels(slice(outputs, None)).contracted(d, _directions(d.shape[1]).mT, (sums - 1) * outputs)
        form, rest = form.channels(slice(0, outputs)), rest.unflatten(1, (-1, outputs))
    else:
        form, rest = weights.part(slice(0, 1)).pulled_back(marginals), weights.part(slice(1, None)).times(*slopes)
    values = _multiplied(form, moved, columns, d.new_zeros(d.shape[0], weights.by_m.shape[2], d.shape[1]))
    totals = torch.cat([values.sum(2)[:, None], rest[..., 0]], dim=1)
    return values, totals, rest[:, MOMENTS - 1 :, :, 1:].abs().amax((1, 3))


def _moving(d: Float[Tensor, "b d"]) -> Int[Tensor, " k"] | slice:
    """The features that differ from the baseline on some path; all, if these are most of them, or none."""
    columns = d.any(0).nonzero()[:, 0]
    return columns if 0 < columns.shape[0] <= MOST_MOVING * d.shape[1] else slice(None)


def _multiplied(
    form: Form, d: Float[Tensor, "b k"], columns: Int[Tensor, " k"] | slice, out: Float[Tensor, "b o d"]
) -> Float[Tensor, "b o d"]:
    """d times a form; zero for features that do not move."""
    if isinstance(columns, slice):
        return form.evaluate(out).mul_(d[:, None])
    values = form.columns(columns).evaluate(out.new_empty(*out.shape[:2], d.shape[1])).mul_(d[:, None])
    return out.index_copy_(2, columns, values)


@cache
def _directions(features: int) -> Float[Tensor, "s d"]:
    """A row of ones, and random numbers, in whose combinations features do not cancel."""
    random = torch.randn(features, PROBES, generator=torch.Generator().manual_seed(features), dtype=torch.float64)
    return torch.cat([torch.ones(1, features, dtype=torch.float64), random.mT])
