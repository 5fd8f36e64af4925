"""Psi at nodes of its own, from latent functions that are interpolated along the whole path (MATH 4.15 to 4.17)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.expectations.expectation import Expectation
from gplens.paths.integrand import Question
from gplens.paths.panel_nodes import NodeValues, NodeWeights
from gplens.paths.path_rules import LAST, MOMENTS, SIZES, PathRule, path_rule
from gplens.processes.process import Marginals

FEWEST, PER_SLOPE = 7.0, 1.3
"""Nodes of psi for a flat path, and for each change of m by the resolution of the link (4.10) within a whole path. The
largest distance between n nodes of Gauss is 1.6/n, so that psi does not take another course between two of them."""


@final
@dataclass(frozen=True, eq=False)
class PathPsi:
    """What psi contributes to the sums over e paths."""

    weights: NodeWeights
    """Of m and v at the nodes of the latent functions, for all sums of the rule  (4.16)."""
    ends: Float[Tensor, "e o _"]
    """T at t = 1, and at t = 0 if paths have baselines of their own."""
    slopes: Float[Tensor, "e j o"]
    """int P_j' T  (4.17)."""


def path_psi(question: Question, marginals: Marginals, count: int, finer: float, *, shared: bool) -> PathPsi:
    """Psi on as many nodes as each path needs; those with equally many are evaluated together."""
    rule = path_rule(count, count, shared=shared)
    steps = steepness(question.expectation, marginals, rule.t[: count + 1])
    if steps is None:
        return _evaluated(question, marginals, rule)
    wanted = (finer * (FEWEST + PER_SLOPE * steps)).clamp(min=count)
    index = torch.bucketize(wanted, wanted.new_tensor(SIZES)).clamp(max=len(SIZES) - 1)
    least, most = (int(extreme) for extreme in index.aminmax())
    if least == most:
        return _interpolated(question, marginals, path_rule(count, SIZES[most], shared=shared), None)
    groups = [(index == size).nonzero()[:, 0] for size in range(least, most + 1)]
    rules = [path_rule(count, SIZES[size], shared=shared) for size in range(least, most + 1)]
    parts = [
        _interpolated(question, marginals, rule, rows) for rows, rule in zip(groups, rules, strict=True) if len(rows)
    ]
    return _joined(parts, torch.cat(groups).argsort())


def steepness(
    expectation: Expectation, marginals: Marginals, t: Float[Tensor, " q"]
) -> Float[Tensor, " e"] | None:
    """The fastest change of m and v, in units of the resolution of psi for each path length; None if it does not matter."""
    resolution = expectation.resolution(marginals)
    if resolution is None:
        return None
    q = t.shape[0]
    near = torch.minimum(resolution[..., 1:q], resolution[..., : q - 1])
    m, v = (part[..., :q].diff(dim=2).abs() for part in (marginals.m, marginals.v))
    steps = (m / near + v / (2 * near**2)) / t.diff()
    return steps.nan_to_num(nan=0.0).amax((1, 2))


def _interpolated(question: Question, marginals: Marginals, rule: PathRule, rows: Int[Tensor, " k"] | None) -> PathPsi:
    """Psi of some paths. A variance below zero is an error of interpolation."""
    if rows is None and rule.s.shape[0] == rule.t.shape[0]:
        return _evaluated(question, marginals, rule)
    m, v = (part if rows is None else part[rows] for part in (marginals.m, marginals.v))
    if rule.s.shape[0] > rule.t.shape[0]:
        m, v = m @ rule.between, (v @ rule.between).clamp(min=0)  # (4.15)
    return _evaluated(question, NodeValues(m, v), rule)


def _evaluated(question: Question, marginals: Marginals, rule: PathRule) -> PathPsi:
    jet = question.expectation.jet(marginals, question.outputs)
    weights = NodeWeights.spread(jet, rule.spread, MOMENTS + LAST)
    return PathPsi(weights, jet.value[..., rule.s.shape[0] - rule.ends :], rule.slopes @ jet.value.mT)


def _joined(parts: list[PathPsi], order: Int[Tensor, " e"]) -> PathPsi:
    """Several sets of paths as one, in another order."""

    def joined(tensors: list[Tensor]) -> Tensor:
        return torch.cat(tensors)[order]

    by_v = [part.weights.by_v for part in parts if part.weights.by_v is not None]
    weights = NodeWeights(joined([part.weights.by_m for part in parts]), joined(by_v) if by_v else None)
    return PathPsi(weights, joined([part.ends for part in parts]), joined([part.slopes for part in parts]))
