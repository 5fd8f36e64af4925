"""T at the ends of paths."""

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.paths.blocks import numbers_on_a_line, rows_in_a_block
from gplens.paths.integrand import Question

Targets = tuple[Float[Tensor, "b o"], Float[Tensor, "b o"]]
"""T(x) and T(x0)."""


def targets_on(question: Question, line: Line) -> Float[Tensor, "b o"]:
    """T at the only nodes of lines, in blocks of rows."""
    process, expectation = question.process, question.expectation
    blocks = line.split(rows_in_a_block(numbers_on_a_line(process, 1, 1)))
    return torch.cat([expectation.jet(process.along(block), question.outputs).value[:, :, 0] for block in blocks])


def finished(d: Float[Tensor, "b d"], end: Float[Tensor, "b o"], start: Float[Tensor, "#b o"]) -> Targets:
    """Set T(x) to T(x0), to the last bit, for inputs that equal their baseline, whatever the rounding of either."""
    return torch.where((d == 0).all(1, keepdim=True), start, end), start.expand(len(d), -1)
