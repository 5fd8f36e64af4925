"""Attributions from one rule for a whole path; their error, from what they have to add up to (MATH 4.15 to 4.18)."""

from dataclasses import dataclass
from functools import cache
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.scratch import Scratch
from gplens.paths.integrand import Question
from gplens.paths.panel_nodes import NodeWeights
from gplens.paths.panels import ratio
from gplens.paths.path_psi import path_psi
from gplens.paths.path_rules import MOMENTS, path_rule
from gplens.processes.process import Marginals

MARGIN = 5.0
"""Safety factor on the largest gap. Recipe: scripts/path_nodes.py"""
CANCEL = 5.0
"""The last coefficients of features in units of those of their sum, above which the sum tells nothing of them."""
FEW, PROBES = 16, 3
"""Up to so many features each one is looked at, beyond it so many random combinations of them."""
SIGNS = torch.tensor([(-1.0) ** j for j in range(MOMENTS)], dtype=torch.float64)[:, None]
"""P_j at the beginning of a path; it is one at its end."""


@final
@dataclass(frozen=True, eq=False)
class WholeSums:
    """Integrals over whole paths, with targets at the ends."""

    values: Float[Tensor, "b o d"]
    error: Float[Tensor, "b o"]
    """The estimated error of every feature."""
    end: Float[Tensor, "b o"]
    start: Float[Tensor, "b o"]


def whole_sums(
    question: Question,
    x0: Float[Tensor, "_ d"],
    d: Float[Tensor, "e d"],
    count: int,
    finer: float,
    scratch: Scratch,
    *,
    shared: bool,
) -> WholeSums:
    """(4.16) from `count` nodes of the latent functions, and `finer` times the usual number of nodes of psi.

    If all lines share a baseline, `d` has a last row of zeros, which stays there.
    """
    scratch.reset()
    rows, t = d.shape[0] - shared, path_rule(count, count, shared=shared).t
    marginals = question.process.along(Line(x0, d, t.expand(d.shape[0], -1), scratch))
    psi = path_psi(question, marginals, count, finer, shared=shared)
    values, totals, size = _contracted(psi.weights, marginals, d)
    end, start = psi.ends[:rows, :, 0], psi.ends[rows:, :, 0].expand(rows, -1) if shared else psi.ends[:, :, 1]
    end = torch.where((d[:rows] == 0).all(1, keepdim=True), start, end)
    exact = end[:, None] - SIGNS * start[:, None] - psi.slopes[:rows]  # (4.17)
    return WholeSums(values[:rows], _error(totals[:rows], size[:rows], exact), end, start)


def _contracted(
    weights: NodeWeights, marginals: Marginals, d: Float[Tensor, "b d"]
) -> tuple[Float[Tensor, "b o d"], Float[Tensor, "b l o"], Float[Tensor, "b o"]]:
    """The integrals, all sums of the rule summed over features, and the size of the last ones over features."""
    if d.shape[1] <= FEW:
        sums = weights.sums(marginals, d)
        return sums[:, 0], sums.sum(3), sums[:, MOMENTS:].abs().amax((1, 3))
    (channels, outputs), form = weights.by_m.shape[1:3], weights.pulled_back(marginals)
    values = form.channels(slice(0, outputs)).evaluate(d.new_empty(d.shape[0], outputs, d.shape[1])).mul_(d[:, None])
    rest = form.channels(slice(outputs, None)).contracted(d, _probes(d.shape[1]), (channels - 1) * outputs)
    rest = rest.unflatten(1, (-1, outputs))
    totals = torch.cat([values.sum(2)[:, None], rest[..., 0]], dim=1)
    return values, totals, rest[:, MOMENTS - 1 :, :, 1:].abs().amax((1, 3))


@cache
def _probes(features: int) -> Float[Tensor, "d s"]:
    """A column of ones, and random numbers, in whose combinations features do not cancel."""
    random = torch.randn(features, PROBES, generator=torch.Generator().manual_seed(features), dtype=torch.float64)
    return torch.cat([torch.ones(features, 1, dtype=torch.float64), random], dim=1)


def _error(
    totals: Float[Tensor, "b l o"], size: Float[Tensor, "b o"], exact: Float[Tensor, "b j o"]
) -> Float[Tensor, "b o"]:
    """The largest gap of the moments, times what single features may have beyond their sum  (4.18)."""
    gap = (totals[:, :MOMENTS] - exact).abs().amax(1)
    cancelling = ratio(size, totals[:, MOMENTS:].abs().amax(1)).clamp(min=1.0)
    error = MARGIN * gap * cancelling.clamp(max=CANCEL)
    return torch.where(cancelling > CANCEL, torch.maximum(error, size), error)
