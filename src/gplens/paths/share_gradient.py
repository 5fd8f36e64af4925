"""Paths that switch categories, as straight lines in numbers and shares of categories (MATH 10.3)."""

from functools import cached_property
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.line import Line
from gplens.paths.gradient import TargetGradient
from gplens.paths.panel_nodes import Known
from gplens.paths.path_psi import NodeWeights
from gplens.processes.one_hot_process import OneHotProcess
from gplens.processes.process import Process


@final
class ShareGradient(TargetGradient):
    """The gradient on one line per path, in numbers and shares of categories; the target is affine in f  (10.3)."""

    @property
    def shares(self) -> OneHotProcess:
        """f of numbers and shares."""
        assert self.question.shares is not None
        return self.question.shares

    @property
    def process(self) -> Process:
        return self.shares.process

    @cached_property
    def _ends(self) -> Line:
        begin, end = self.shares.layout.encode(self.starts), self.shares.layout.encode(self.x)
        return Line(begin, end - begin, self.x.new_zeros(len(self.x), 0))

    def measured(self) -> Known:
        return Known(self.process.length(self._ends), self.process.kinks(self._ends))

    def sums(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"]
    ) -> Float[Tensor, "s r o d"]:
        """Sums over nodes and over the shares of each category, so that errors refer to features."""
        blocks = []
        for block in torch.arange(len(rows)).split(self._lines_in_a_block(t.shape[1], weights.shape[1])):
            self.scratch.reset()
            x0, d = self._ends.x0[rows[block]], self._ends.d[rows[block]]
            marginals = self.process.along(Line(x0, d, t[block], self.scratch))
            of_shares = NodeWeights.of(self.expectation.jet(marginals, self.outputs), weights[block])
            blocks.append(self.shares.layout.summed(of_shares.sums(marginals, d)))
        return torch.cat(blocks)
