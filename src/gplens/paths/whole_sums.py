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
from gplens.paths.path_psi import PathPsi, path_psi
from gplens.paths.path_rules import MOMENTS, path_rule
from gplens.paths.path_sums import NodeWeights, ratio
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


@final
@dataclass(frozen=True, eq=False)
class WholeLines:
    """Lines from baselines to inputs, and what is known of their ends."""

    x0: Float[Tensor, "#e d"]
    d: Float[Tensor, "e d"]
    """x - x0."""
    last: bool = False
    """Whether the last line stays at the baseline that all share, where T is then evaluated once."""
    targets: tuple[Float[Tensor, "e o"], Float[Tensor, "e o"]] | None = None
    """T(x) and T(x0); None if they are to be evaluated."""

    @property
    def ends(self) -> int:
        """At how many ends of each line T is evaluated."""
        return 0 if self.targets is not None else 1 if self.last else 2

    def targets_of(self, psi: PathPsi) -> tuple[Float[Tensor, "b o"], Float[Tensor, "b o"]]:
        """T(x) and T(x0) of the lines that move or could."""
        if self.targets is not None:
            return self.targets
        if self.last:
            return psi.ends[:-1, :, 0], psi.ends[-1:, :, 0].expand(len(self.d) - 1, -1)
        return psi.ends[:, :, 0], psi.ends[:, :, 1]


def whole_sums(question: Question, lines: WholeLines, count: int, finer: float, scratch: Scratch) -> WholeSums:
    """(4.16) from `count` nodes of the latent functions, and `finer` times the usual number of nodes of psi."""
    scratch.reset()
    d, rows, t = lines.d, len(lines.d) - lines.last, path_rule(count, count, lines.ends).t
    marginals = question.process.along(Line(lines.x0, d, t.expand(len(d), -1), scratch))
    psi = path_psi(question, marginals, count, finer, lines.ends)
    values, totals, size = _contracted(psi.weights, marginals, d)
    end, start = lines.targets_of(psi)
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
