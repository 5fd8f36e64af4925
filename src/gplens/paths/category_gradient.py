"""What integrands of paths that change categories share: ends, rounding, sizes of blocks (MATH 10.1)."""

from abc import abstractmethod
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.scratch import Scratch
from gplens.paths.blocks import numbers_on_a_line, rows_in_a_block
from gplens.paths.integrand import Integrand, Question
from gplens.processes.process import Process

ROUNDING = torch.finfo(torch.float64).eps
"""The relative rounding error of a target."""


class CategoryGradient(Integrand):
    """The integrand of (10.1) on b paths that change categories.

    The integral of a block of columns is written to its first column; the others are zero.
    """

    def __init__(
        self, question: Question, x0: Float[Tensor, "#b d"], x: Float[Tensor, "b d"], scratch: Scratch | None = None
    ) -> None:
        self.question, self.scratch = question, scratch or Scratch()
        self.expectation, self.outputs = question.expectation, question.outputs
        self.x0, self.x = x0.expand_as(x), x

    @property
    @abstractmethod
    def process(self) -> Process:
        """What is evaluated on lines."""

    @property
    def rows(self) -> int:
        return self.x.shape[0]

    @cached_property
    def end(self) -> Float[Tensor, "b o"]:
        """T(x)."""
        return self._target(self.x)

    @cached_property
    def start(self) -> Float[Tensor, "b o"]:
        """T(x0)."""
        return self._target(self.x0)

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
    def smooth(self) -> bool:
        return self.process.smooth

    @property
    def least_nodes(self) -> int:
        return 15 if self.expectation.independent else 9

    @property
    def kinked(self) -> bool:
        return self.kinks.shape[1] > self.process.cuts

    def _target(self, x: Float[Tensor, "b d"]) -> Float[Tensor, "b o"]:
        process = self.question.process
        blocks = Line.at(x).split(rows_in_a_block(numbers_on_a_line(process, 1, 1)))
        return torch.cat([self.expectation.jet(process.along(b), self.outputs).value[:, :, 0] for b in blocks])

    def _lines_in_a_block(self, nodes: int, channels: int) -> int:
        return rows_in_a_block(numbers_on_a_line(self.process, nodes, channels * len(self.outputs)))
