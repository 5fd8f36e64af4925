"""The gradient of a target along paths: the target at the ends, known kinks, and sums over nodes (MATH 4.1)."""

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.line import Line, Scratch
from gplens.paths.integrals import PathSums
from gplens.paths.integrand import Integrand, Question, Targets, finished, targets_on
from gplens.paths.nested import NestedRule, nested_rule
from gplens.paths.panel_nodes import Known, NodePart, PanelNodes
from gplens.paths.panel_sums import KeptNodes, PanelSums, joined_sums
from gplens.paths.panel_weights import panel_weights
from gplens.paths.panels import Panels
from gplens.paths.path_psi import NodeWeights
from gplens.paths.whole_paths import WholePaths
from gplens.processes.process import Process, numbers_on_a_line, rows_in_a_block

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

    def allowed_error(self, values: Float[Tensor, "b o d"], tolerance: float) -> Float[Tensor, "b o"]:
        """Relative to the larger of |T(x) - T(x0)| and the largest |attribution|, plus the error of T itself."""
        largest = torch.maximum(self.change.abs(), values.abs().amax(2))
        return tolerance * (largest + self._size(ROUNDING)) + self.expectation.floor  # (4.8)

    def _size(self, part: float) -> Float[Tensor, "b o"]:
        """A part of |T(x)| + |T(x0)|."""
        return part * (self.end.abs() + self.start.abs())

    @property
    def gap_floor(self) -> Float[Tensor, "b o"]:
        """The accuracy of the target: its relative error times the target, plus its absolute error."""
        return self._size(max(self.expectation.accuracy, ROUNDING)) + self.expectation.floor

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


KEPT_BLOCKS = 4
"""The size of a block of rows assumes its first nodes. Panels that need more may use this many times its memory."""


@final
class PathGradient(TargetGradient):
    """d_k times the gradient of T = psi(m, v) on b lines, for the requested outputs.

    Args:
        question: what is explained.
        x0: the baselines, one for each line, or a single one that all lines share.
        x: the inputs.
        scratch: memory for large tensors, which nobody else uses at the same time.
        known: the known lengths and kinks of the lines; None if they are not known.
        targets: T(x) and T(x0), if they are known.
    """

    def __init__(
        self,
        question: Question,
        x0: Float[Tensor, "#b d"],
        x: Float[Tensor, "b d"],
        scratch: Scratch | None = None,
        known: Known | None = None,
        targets: Targets | None = None,
    ) -> None:
        super().__init__(question, x0, x, scratch)
        # If all lines share the baseline, an additional line stays there, so that T(x0) is evaluated only once.
        self.directions = x.new_zeros(x.shape[0] + self.shared, x.shape[1])
        torch.sub(x, x0, out=self.directions[: x.shape[0]])
        if known is not None:
            self.known = known
        self._targets = None if targets is None else finished(self.d, *targets)

    @property
    def d(self) -> Float[Tensor, "b d"]:
        """x - x0."""
        return self.directions[: self.rows]

    def measured(self) -> Known:
        line = Line(self.x0, self.d, self.x.new_zeros(self.rows, 0))
        return Known(self.process.length(line), self.process.kinks(line))

    def targets(self) -> tuple[Float[Tensor, "b o"], Float[Tensor, "b o"]]:
        """T(x) and T(x0). Whole paths return them; they are evaluated here if needed earlier."""
        if self._targets is None:
            self._targets = self._targets_at_points()
        return self._targets

    def _targets_at_points(self) -> tuple[Float[Tensor, "b o"], Float[Tensor, "b o"]]:
        if not self.shared:
            return finished(self.d, *(targets_on(self.question, Line.at(points)) for points in (self.x, self.x0)))
        target = targets_on(self.question, Line(self.x0, self.directions, self.x.new_ones(len(self.directions), 1)))
        return finished(self.d, target[:-1], target[-1:])

    def take(self, rows: Int[Tensor, " k"]) -> "PathGradient":
        end, start = self.targets()
        known, targets = Known(self.length[rows], self.kinks[rows]), (end[rows], start[rows])
        x0 = self.x0 if self.shared else self.x0[rows]
        return PathGradient(self.question, x0, self.x[rows], self.scratch, known, targets)

    def whole_paths(self, tolerance: float, reach: float) -> PathSums | None:
        """Gauss rules for whole paths. None if there are known kinks, autograd gradients, or no sum to check."""
        if self.process.autograd or self.expectation.accuracy == torch.inf or self.kinks.shape[1]:
            return None
        paths = WholePaths(self.question, self.x0, self.directions, tolerance, self.scratch, self._targets)
        whole = paths.run(self.length, reach)
        if whole.limit is not None or bool(whole.tried.all()):
            self._targets = whole.end, whole.start
        elif not bool(whole.tried.any()):
            return None
        error = whole.error[..., None] * (whole.values != 0)
        return PathSums(whole.values, error, whole.error, whole.nodes, torch.zeros_like(whole.settled), whole.limit)

    def panel_sums(self, panels: Panels, count: int, tolerance: float, kept: KeptNodes | None) -> PanelSums:
        """The integrals over panels (4.1), in which a steep link is integrated on pieces (4.10)."""
        rule = nested_rule(count, kinked=self.kinked, smooth=self.smooth)
        size = self._lines_in_a_block(count, rule.channels.shape[0])
        if panels.owner.shape[0] <= KEPT_BLOCKS * size:
            return self._sums_of_block(panels, rule, tolerance, kept)
        blocks = torch.arange(panels.owner.shape[0]).split(size)
        return joined_sums([self._sums_of_block(panels.take(block), rule, tolerance, None) for block in blocks])

    def _sums_of_block(self, panels: Panels, rule: NestedRule, tolerance: float, kept: KeptNodes | None) -> PanelSums:
        parts = kept.parts if isinstance(kept, PanelNodes) else ()
        if not parts:
            self.scratch.reset()
        evaluated = sum(part.count for part in parts)
        nodes = PanelNodes((*parts, self._evaluated(panels, rule.t[evaluated:])))
        weights, missed = panel_weights(self.question, nodes, rule, tolerance)
        sums = weights.sums(nodes, panels.width[:, None] * self.d[panels.owner])
        return replace(PanelSums.of(sums, missed, kinked=self.kinked), kept=nodes)

    def _evaluated(self, panels: Panels, t: Float[Tensor, " q"]) -> NodePart:
        """The nodes t of panels."""
        rows, nodes = panels.owner, panels.start[:, None] + panels.width[:, None] * t
        return self._part(self.d[rows], self.x0 if self.shared else self.x0[rows], nodes, t.shape[0], rows.shape[0])

    def _part(
        self, d: Float[Tensor, "e d"], x0: Float[Tensor, "#e d"], nodes: Float[Tensor, "e p"], count: int, panels: int
    ) -> NodePart:
        marginals = self.process.along(Line(x0, d, nodes, self.scratch))
        return NodePart(marginals, count, torch.arange(panels))

    def sums(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"]
    ) -> Float[Tensor, "s r o d"]:
        """d_k sum_q weights_q [psi_m d_k m + psi_v d_k v]  (4.1), in blocks of rows."""
        size = self._lines_in_a_block(t.shape[1], weights.shape[1])
        blocks = []
        for block in torch.arange(rows.shape[0]).split(size):
            lines = rows[block]
            x0 = self.x0 if self.shared else self.x0[lines]
            self.scratch.reset()
            part = self._part(self.d[lines], x0, t[block], t.shape[1], lines.shape[0])
            node_weights = NodeWeights.of(self.expectation.jet(part.marginals, self.outputs), weights[block])
            blocks.append(node_weights.sums(part.marginals, self.d[lines]))
        return torch.cat(blocks)
