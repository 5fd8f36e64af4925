"""Paths that switch categories: multilinear in the categories, straight in the numbers, at the same t (MATH 10.1)."""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from gplens.lines.line import Line
from gplens.lines.scratch import Scratch
from gplens.lines.switches import Corners, Switches
from gplens.paths.blocks import numbers_on_a_line, rows_in_a_block
from gplens.paths.integrand import Integrand, Question
from gplens.paths.panel_nodes import NodeWeights

ROUNDING = torch.finfo(torch.float64).eps
"""The relative rounding error of a target."""


@final
class SwitchingGradient(Integrand):
    """The integrand of (10.1) on b paths, each evaluated on the 2^c lines of its c changed categories.

    number k:    d_k sum_S w_S(t) d_k T(x_num(t), S)                  w_S = t^|S| (1 - t)^(c - |S|)
    category j:  E_S[T given j in S] - E_S[T given j not in S]        every other one switched with probability t

    On each line the categories stay as they are, so that the process needs no derivative in them. The integral of a
    block of columns is written to its first column; the others are zero.
    """

    def __init__(
        self,
        question: Question,
        switches: Switches,
        x0: Float[Tensor, "#b d"],
        x: Float[Tensor, "b d"],
        scratch: Scratch | None = None,
    ) -> None:
        self.question, self.switches, self.scratch = question, switches, scratch or Scratch()
        self.process, self.expectation, self.outputs = question.process, question.expectation, question.outputs
        self.x0, self.x = x0.expand_as(x), x
        self.end, self.start = self._target(x), self._target(self.x0)
        corners = switches.corners(self.x0, x)
        line = Line(corners.x0, corners.d, x.new_zeros(len(corners.d), 0))
        self._length = x.new_zeros(len(x)).scatter_reduce(0, corners.owner, self.process.length(line), "amax")
        self._kinks = _by_path(self.process.kinks(line), corners, len(x))

    @property
    def rows(self) -> int:
        return self.x.shape[0]

    @property
    def change(self) -> Float[Tensor, "b o"]:
        return self.end - self.start

    @property
    def rounding(self) -> Float[Tensor, "b o"]:
        return ROUNDING * (self.end.abs() + self.start.abs())

    @property
    def floor(self) -> float:
        return self.expectation.floor

    @property
    def gap_floor(self) -> Float[Tensor, "b o"]:
        return max(self.expectation.accuracy, ROUNDING) * (self.end.abs() + self.start.abs()) + self.floor

    @property
    def length(self) -> Float[Tensor, " b"]:
        """That of the longest line."""
        return self._length

    @property
    def smooth(self) -> bool:
        return self.process.smooth

    @property
    def least_nodes(self) -> int:
        return 15 if self.expectation.independent else 9

    @property
    def kinks(self) -> Float[Tensor, "b k"]:
        """Those of all lines of a path."""
        return self._kinks

    @property
    def kinked(self) -> bool:
        return self._kinks.shape[1] > self.process.cuts

    def take(self, rows: Int[Tensor, " k"]) -> "SwitchingGradient":
        return SwitchingGradient(self.question, self.switches, self.x0[rows], self.x[rows], self.scratch)

    def sums(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"]
    ) -> Float[Tensor, "s r o d"]:
        """The sums of (10.1), in blocks of lines."""
        out = weights.new_zeros(*weights.shape[:2], len(self.outputs), self.x.shape[1])
        corners = self.switches.corners(self.x0[rows], self.x[rows])
        channels = weights.shape[1] * len(self.outputs)
        size = rows_in_a_block(numbers_on_a_line(self.process, t.shape[1], channels))
        for lines in torch.arange(len(corners.owner)).split(size):
            part = corners.take(lines)
            out.index_add_(0, part.owner, self._sums(part, t[part.owner], weights[part.owner]))
        return out

    def _sums(
        self, corners: Corners, t: Float[Tensor, "l q"], weights: Float[Tensor, "l r q"]
    ) -> Float[Tensor, "l r o d"]:
        self.scratch.reset()
        marginals = self.process.along(Line(corners.x0, corners.d, t, self.scratch))
        jet = self.expectation.jet(marginals, self.outputs)
        numbers = NodeWeights.of(jet, weights * corners.weights(t)[:, None])
        sums = numbers.sums(marginals, corners.d)  # (10.1)
        differences = torch.einsum("lrq,loq,ljq->lroj", weights, jet.value, corners.differences(t))  # (10.2)
        sums[..., self.switches.places] += differences
        return sums

    def _target(self, x: Float[Tensor, "b d"]) -> Float[Tensor, "b o"]:
        blocks = Line.at(x).split(rows_in_a_block(numbers_on_a_line(self.process, 1, 1)))
        return torch.cat([self.expectation.jet(self.process.along(b), self.outputs).value[:, :, 0] for b in blocks])


def _by_path(kinks: Float[Tensor, "l k"], corners: Corners, paths: int) -> Float[Tensor, "b m"]:
    """The kinks of the lines of each path, side by side; NaN where a path has fewer."""
    if not kinks.shape[1]:
        return kinks.new_empty(paths, 0)
    counts = torch.bincount(corners.owner, minlength=paths).tolist()
    return pad_sequence([part.flatten() for part in kinks.split(counts)], batch_first=True, padding_value=torch.nan)
