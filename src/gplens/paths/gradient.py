"""The gradient of a target along the lines from baselines to inputs, in blocks of rows (MATH 4.1)."""

from dataclasses import replace
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.scratch import Scratch
from gplens.paths.end_targets import Targets, finished, targets_on
from gplens.paths.integrand import Question
from gplens.paths.nested import NestedRule, nested_rule
from gplens.paths.panel_nodes import Known, NodePart, PanelNodes
from gplens.paths.panel_sums import KeptNodes, PanelSums, joined_sums
from gplens.paths.panel_weights import panel_weights
from gplens.paths.panels import Panels
from gplens.paths.path_sums import NodeWeights, PathSums
from gplens.paths.target_gradient import TargetGradient
from gplens.paths.whole_paths import WholePaths

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
        if bool(whole.tried.all()):
            self._targets = whole.end, whole.start
        if not bool(whole.tried.any()):
            return None
        error = whole.error[..., None] * (whole.values != 0)
        return PathSums(whole.values, error, whole.error, whole.nodes, torch.zeros_like(whole.tried))

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
