"""Whole paths by Gauss's rules, with as many nodes as their length foretells, and more where they do not suffice."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.lines.scratch import Scratch
from gplens.paths.blocks import numbers_on_a_line, rows_in_a_block
from gplens.paths.end_targets import Targets
from gplens.paths.integrand import Question
from gplens.paths.path_rules import LAST, MOMENTS, SIZES, first_sizes, next_sizes
from gplens.paths.whole_sums import WholeLines, WholeSums, whole_sums

ATTEMPTS = 3
"""Rules that are tried before a path is cut into panels."""
FINER = 1.5
"""The nodes of psi in each attempt, in units of those in the one before."""


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
        rows, outputs = d.shape[0] - self.shared, len(question.outputs)
        self.values = d.new_empty(rows, outputs, d.shape[1])
        self.error, self.end, self.start = (d.new_full((rows, outputs), torch.inf) for _ in range(3))
        self.nodes = torch.zeros(rows, dtype=torch.long)
        self.settled = torch.zeros(rows, dtype=torch.bool)
        self.tried = torch.zeros(rows, dtype=torch.bool)

    def run(self, length: Float[Tensor, " b"], reach: float) -> "WholePaths":
        """Try all paths but those for which panels of at most `reach` lengthscales are better."""
        size = first_sizes(length, self.tolerance, reach, smooth=self.question.process.smooth)
        pending = (size < len(SIZES)).nonzero()[:, 0]
        for attempt in range(ATTEMPTS):
            pending = self._attempt(size, pending, FINER**attempt)
            if not pending.shape[0]:
                break
        return self

    def _attempt(self, size: Int[Tensor, " b"], pending: Int[Tensor, " k"], finer: float) -> Int[Tensor, " m"]:
        """One rule for each pending path; write the sizes of the next ones, and return the paths that have one."""
        sizes = size[pending]
        for index in sizes.unique().tolist():
            rows = pending if bool((sizes == index).all()) else pending[sizes == index]
            self._evaluate(rows, SIZES[index], finer)
        missed = pending[~self.settled[pending]]
        if not missed.shape[0]:
            return missed
        unit = self._largest(missed).amax(1, keepdim=True)
        size[missed] = next_sizes(size[missed], self.error[missed] / unit, self._allowed(missed) / unit)
        return missed[size[missed] < len(SIZES)]

    def _evaluate(self, rows: Int[Tensor, " k"], count: int, finer: float) -> None:
        channels = (MOMENTS + LAST) * len(self.question.outputs)
        numbers = numbers_on_a_line(self.question.process, count + 1, channels)
        for block in rows.split(rows_in_a_block(numbers)):
            self._keep(block, whole_sums(self.question, self._lines(block, count), count, finer, self.scratch))
        self.nodes[rows] += count
        self.tried[rows] = True
        self.settled[rows] = (self.error[rows] <= self._allowed(rows)).all(1)

    def _lines(self, block: Int[Tensor, " k"], count: int) -> WholeLines:
        """Some of the lines. One that stays at a shared baseline has all nodes of the others, and serves many."""
        last = self.targets is None and self.shared and block.shape[0] > count
        rows = torch.cat([block, block.new_tensor([-1])]) if last else block
        d = self.d if rows.shape[0] == self.d.shape[0] else self.d[rows]
        targets = None if self.targets is None else (self.targets[0][block], self.targets[1][block])
        return WholeLines(self.x0 if self.shared or d is self.d else self.x0[block], d, last, targets)

    def _keep(self, rows: Int[Tensor, " k"], sums: WholeSums) -> None:
        if rows.shape[0] == self.nodes.shape[0]:
            self.values, self.error, self.end, self.start = sums.values, sums.error, sums.end, sums.start.clone()
            return
        self.values[rows], self.error[rows], self.end[rows] = sums.values, sums.error, sums.end
        self.start[rows] = sums.start

    def _largest(self, rows: Int[Tensor, " k"]) -> Float[Tensor, "k o"]:
        """(4.8)."""
        return torch.maximum((self.end[rows] - self.start[rows]).abs(), self.values[rows].abs().amax(2))

    def _allowed(self, rows: Int[Tensor, " k"]) -> Float[Tensor, "k o"]:
        return self.tolerance * self._largest(rows) + self.question.expectation.floor

    def missed(self) -> Bool[Tensor, " b"]:
        """The paths that are left for panels."""
        return ~self.settled
