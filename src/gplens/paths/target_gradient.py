"""The base class of gradients along paths: the target at both ends, its rounding, kinks, sizes of blocks."""

from abc import abstractmethod
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.scratch import Scratch
from gplens.paths.blocks import numbers_on_a_line, rows_in_a_block
from gplens.paths.end_targets import Targets, targets_on
from gplens.paths.integrand import Integrand, Question
from gplens.paths.panel_nodes import Known
from gplens.processes.process import Process

ROUNDING = torch.finfo(torch.float64).eps
"""The relative rounding error of a target."""


class TargetGradient(Integrand):
    """The gradient of T = psi(m, v) along b paths from x0 to x, for the requested outputs.

    Args:
        question: what is explained.
        x0: the baselines, one for each path, or a single one that all paths share.
        x: the inputs.
        scratch: memory for large tensors, which nobody else uses at the same time.
    """

    def __init__(
        self, question: Question, x0: Float[Tensor, "#b d"], x: Float[Tensor, "b d"], scratch: Scratch | None = None
    ) -> None:
        self.question, self.scratch = question, scratch or Scratch()
        self.expectation, self.outputs = question.expectation, question.outputs
        self.x0, self.x, self.shared = x0, x, x0.shape[0] == 1

    @property
    def starts(self) -> Float[Tensor, "b d"]:
        """A baseline for each path."""
        return self.x0.expand_as(self.x)

    @property
    def process(self) -> Process:
        """The process that is evaluated on lines."""
        return self.question.process

    @property
    def rows(self) -> int:
        return self.x.shape[0]

    @abstractmethod
    def measured(self) -> Known:
        """The lengths of the paths, and their kinks."""

    @cached_property
    def known(self) -> Known:
        """Lengths and kinks of the paths."""
        return self.measured()

    @property
    def length(self) -> Float[Tensor, " b"]:
        return self.known.length

    @property
    def kinks(self) -> Float[Tensor, "b k"]:
        return self.known.kinks

    @cached_property
    def _ends_of_paths(self) -> Targets:
        return targets_on(self.question, Line.at(self.x)), targets_on(self.question, Line.at(self.starts))

    def targets(self) -> Targets:
        """T(x) and T(x0)."""
        return self._ends_of_paths

    @property
    def end(self) -> Float[Tensor, "b o"]:
        """T(x)."""
        return self.targets()[0]

    @property
    def start(self) -> Float[Tensor, "b o"]:
        """T(x0)."""
        return self.targets()[1]

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
        """The accuracy of the target: its relative error times the target, plus its absolute error."""
        return max(self.expectation.accuracy, ROUNDING) * (self.end.abs() + self.start.abs()) + self.floor

    @property
    def smooth(self) -> bool:
        return self.process.smooth

    @property
    def least_nodes(self) -> int:
        """More nodes for classes: along most paths their logits change by more than the smallest rules can describe."""
        return 15 if self.expectation.independent else 9

    @property
    def kinked(self) -> bool:
        return self.kinks.shape[1] > self.process.cuts

    def take(self, rows: Int[Tensor, " k"]) -> "TargetGradient":
        return type(self)(self.question, self.starts[rows], self.x[rows], self.scratch)

    def _lines_in_a_block(self, nodes: int, channels: int) -> int:
        return rows_in_a_block(numbers_on_a_line(self.process, nodes, channels * len(self.outputs)))
