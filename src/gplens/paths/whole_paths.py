"""Attributions from one Gauss rule for a whole path, with more nodes until they add up (MATH 4.15 to 4.18)."""

from dataclasses import dataclass
from math import log10
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.line import Line, Scratch
from gplens.paths.integrand import Question, Targets
from gplens.paths.many_features import sums_of_many_features
from gplens.paths.path_psi import NodeWeights, PathPsi, path_psi
from gplens.paths.path_rules import LAST, MOMENTS, SIZES, as_numbers, next_sizes, path_rule
from gplens.processes.process import Marginals, numbers_on_a_line, rows_in_a_block

ATTEMPTS = 3
"""Rules that are tried before a path is cut into panels."""
FINER = 1.5
"""The nodes of psi in each attempt, in units of those in the one before."""
FIRST, PER_LENGTH = {True: 5.5, False: 1.5}, {True: 3.0, False: 10.0}
"""Nodes of a path of length zero, and for each lengthscale, by whether the kernels are analytic, at a tolerance of
1e-6: they suffice for three of four rows. Recipe: scripts/path_nodes.py"""
FIXED = 0.4
"""The part of these nodes that every tolerance needs; the rest grows with the number of digits."""
MARGIN = 5.0
"""Safety factor on the largest gap. Recipe: scripts/path_nodes.py"""
CANCEL = 5.0
"""The last coefficients of features in units of those of their sum, above which the sum tells nothing of them."""
FEW = 16
"""Up to so many features each one is looked at, beyond it random combinations of them."""
SPREAD = 0.2
"""The least error of a feature in units of the gap, if there are many features, each of which has a part of it, and the
kernels are analytic. Recipe: scripts/path_nodes.py --features 60"""
GROWTH = torch.tensor([1.0, 1.0, 1.5, 2.5], dtype=torch.float64)[:, None]
"""How much larger errors are with P_j for a function that is analytic in Bernstein's ellipse of radius 2: the largest
coefficient of P_j times half the radius to the power of j. For kernels that are not analytic they are of one size."""
SIGNS = torch.tensor([(-1.0) ** j for j in range(MOMENTS)], dtype=torch.float64)[:, None]
"""P_j at the beginning of a path; it is one at its end."""

Rows = Int[Tensor, " k"] | slice
"""Some paths by their indices, or all of them by slice(None), which copies nothing."""


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


class WholePaths:
    """Integrals over whole paths, as far as they converge.

    Args:
        question: what is explained.
        x0: the baselines, one for each path, or a single one.
        d: x - x0; with a last row of zeros if there is a single baseline.
        tolerance: the relative tolerance.
        scratch: memory for large tensors.
        targets: T(x) and T(x0), if they are known.
    """

    def __init__(
        self,
        question: Question,
        x0: Float[Tensor, "_ d"],
        d: Float[Tensor, "e d"],
        tolerance: float,
        scratch: Scratch,
        targets: Targets | None,
    ) -> None:
        self.question, self.x0, self.d, self.tolerance, self.scratch = question, x0, d, tolerance, scratch
        self.targets = targets
        self.shared = x0.shape[0] == 1
        self.rows = d.shape[0] - self.shared
        self.limit: Tensor | None = None
        """The errors that are allowed, if one rule sufficed for all paths."""

    def run(self, length: Float[Tensor, " b"], reach: float) -> "WholePaths":
        """Try all paths but those for which panels of at most `reach` lengthscales are better."""
        size = first_sizes(length, self.tolerance, reach, smooth=self.question.process.smooth)
        pending = self._together(size)
        for attempt in range(0 if pending is None else 1, ATTEMPTS):
            if pending is None:
                pending = self._with_room(size)
            if not pending.shape[0]:
                break
            pending = self._attempt(size, pending, FINER**attempt)
        return self

    def _together(self, size: Int[Tensor, " b"]) -> Int[Tensor, " m"] | None:
        """The first attempt at all paths, if one rule is that of all of them, and fits into a block; else None."""
        first = int(size[0]) if self.rows else len(SIZES)
        if first == len(SIZES) or (self.rows > 1 and bool((size != first).any())):
            return None
        if self.rows > self._lines_of_a_block(SIZES[first]):
            return None
        sums = whole_sums(self.question, self._lines(slice(None), SIZES[first]), SIZES[first], 1.0, self.scratch)
        self.values, self.error, self.end, self.start = sums.values, sums.error, sums.end, sums.start
        self.nodes, allowed = torch.full((self.rows,), SIZES[first]), self._allowed(slice(None))
        self.settled = (self.error <= allowed).all(1)
        if bool(self.settled.all()):
            self.limit = allowed
            return self.nodes[:0]
        self.start, self.tried = self.start.clone(), torch.ones_like(self.settled)
        return self._next(size, (~self.settled).nonzero()[:, 0])

    def _with_room(self, size: Int[Tensor, " b"]) -> Int[Tensor, " k"]:
        """Room for the results of all paths; the paths that have a rule."""
        rows, outputs = self.rows, len(self.question.outputs)
        self.values = self.d.new_empty(rows, outputs, self.d.shape[1])
        self.error, self.end, self.start = (self.d.new_full((rows, outputs), torch.inf) for _ in range(3))
        self.nodes = torch.zeros(rows, dtype=torch.long)
        self.settled, self.tried = torch.zeros(2, rows, dtype=torch.bool)
        return (size < len(SIZES)).nonzero()[:, 0]

    def _attempt(self, size: Int[Tensor, " b"], pending: Int[Tensor, " k"], finer: float) -> Int[Tensor, " m"]:
        """One rule for each pending path; return the paths that have a next one."""
        sizes = size[pending]
        for index in sizes.unique().tolist():
            self._evaluate(pending[sizes == index], SIZES[index], finer)
        return self._next(size, pending[~self.settled[pending]])

    def _next(self, size: Int[Tensor, " b"], missed: Int[Tensor, " k"]) -> Int[Tensor, " m"]:
        """Write the sizes of the next rules of paths that missed, and return those of them that have one."""
        if not missed.shape[0]:
            return missed
        unit = self._largest(missed).amax(1, keepdim=True)
        size[missed] = next_sizes(size[missed], self.error[missed] / unit, self._allowed(missed) / unit)
        return missed[size[missed] < len(SIZES)]

    def _lines_of_a_block(self, count: int) -> int:
        channels = (MOMENTS + LAST) * len(self.question.outputs)
        return rows_in_a_block(numbers_on_a_line(self.question.process, count + 1, channels))

    def _evaluate(self, rows: Int[Tensor, " k"], count: int, finer: float) -> None:
        for block in rows.split(self._lines_of_a_block(count)):
            sums = whole_sums(self.question, self._lines(block, count), count, finer, self.scratch)
            self.values[block], self.error[block], self.end[block] = sums.values, sums.error, sums.end
            self.start[block] = sums.start
        self.nodes[rows] += count
        self.tried[rows] = True
        self.settled[rows] = (self.error[rows] <= self._allowed(rows)).all(1)

    def _lines(self, block: Rows, count: int) -> WholeLines:
        """Some of the lines. One that stays at a shared baseline has all nodes of the others, and serves many."""
        targets = self.targets
        alone = targets is None and self.shared
        if isinstance(block, slice):
            last = alone and self.rows > count
            return WholeLines(self.x0, self.d if last or not self.shared else self.d[:-1], last, targets)
        last = alone and block.shape[0] > count
        d = self.d[torch.cat([block, block.new_tensor([-1])]) if last else block]
        targets = None if targets is None else (targets[0][block], targets[1][block])
        return WholeLines(self.x0 if self.shared else self.x0[block], d, last, targets)

    def _largest(self, rows: Rows) -> Float[Tensor, "k o"]:
        """(4.8)."""
        return torch.maximum((self.end[rows] - self.start[rows]).abs(), self.values[rows].abs().amax(2))

    def _allowed(self, rows: Rows) -> Float[Tensor, "k o"]:
        return self.tolerance * self._largest(rows) + self.question.expectation.floor


def first_sizes(length: Float[Tensor, " b"], tolerance: float, reach: float, *, smooth: bool) -> Int[Tensor, " b"]:
    """The index in SIZES of the first rule for paths of a length; len(SIZES) where panels are better.

    So are panels of at most `reach` lengthscales, with nine nodes each, where these are more nodes.
    """
    digits = -log10(tolerance) / 6
    wanted = (FIRST[smooth] + PER_LENGTH[smooth] * length) * (FIXED + (1 - FIXED) * digits)
    return torch.bucketize(wanted, as_numbers(SIZES)).masked_fill_(wanted < (9 / reach) * length, len(SIZES))


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
    spread = d.shape[1] > FEW and question.process.smooth
    return WholeSums(values[:rows], _error(totals[:rows], size[:rows], exact, spread=spread), end, start)


def _contracted(
    weights: NodeWeights, marginals: Marginals, d: Float[Tensor, "b d"]
) -> tuple[Float[Tensor, "b o d"], Float[Tensor, "b l o"], Float[Tensor, "b o"]]:
    """The integrals, all sums of the rule summed over features, and the size of the last ones over features."""
    if d.shape[1] > FEW:
        return sums_of_many_features(weights, marginals, d)
    sums = weights.sums(marginals, d)
    return sums[:, 0], sums.sum(3), sums[:, MOMENTS:].abs().amax((1, 3))


def _error(
    totals: Float[Tensor, "b l o"], size: Float[Tensor, "b o"], exact: Float[Tensor, "b j o"], *, spread: bool
) -> Float[Tensor, "b o"]:
    """The largest gap of the moments, times what single features may have of their sum  (4.18)."""
    gaps = (totals[:, :MOMENTS] - exact).abs()
    gap = (gaps / GROWTH if spread else gaps).amax(1)
    cancelling = (size / totals[:, MOMENTS:].abs().amax(1)).nan_to_num(nan=1.0)  # 0/0: no change
    cancelling = cancelling.clamp(min=SPREAD if spread else 1.0)
    error = MARGIN * gap * cancelling.clamp(max=CANCEL)
    return torch.where(cancelling > CANCEL, torch.maximum(error, size), error)
