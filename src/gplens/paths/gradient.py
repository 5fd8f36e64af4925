"""The gradient of a target along the lines from baselines to inputs, in blocks of rows (MATH 4.1)."""

from collections.abc import Callable
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.expectations.expectation import Jet
from gplens.lines.line import Line
from gplens.paths.blocks import numbers_on_a_line, rows_in_a_block
from gplens.paths.integrand import Integrand, PanelSums, Question
from gplens.paths.node_weights import NodeWeights
from gplens.paths.panels import Panels, panel_weights
from gplens.paths.pieces import SteepPanels, is_steep
from gplens.processes.process import Marginals

Weigh = Callable[[Marginals, Jet, Float[Tensor, "e r q"]], NodeWeights]
"""The weights of the nodes, from the marginals and the target at the nodes and the weights of a rule."""

ROUNDING = torch.finfo(torch.float64).eps
"""The relative rounding error of a target."""


@final
class PathGradient(Integrand):
    """d_k times the gradient of T = psi(m, v) on b lines, for the outputs asked for.

    Args:
        question: what is explained.
        x0: the baselines, one for each line, or a single one that all lines share.
        x: the inputs.
    """

    def __init__(self, question: Question, x0: Float[Tensor, "#b d"], x: Float[Tensor, "b d"]) -> None:
        self.process, self.expectation, self.outputs = question.process, question.expectation, question.outputs
        self.x0, self.x, self.shared = x0, x, len(x0) == 1
        # One line more, which stays at the baseline, if all lines share it: T(x0) is evaluated only once.
        self.directions = x.new_zeros(len(x) + self.shared, x.shape[1])
        torch.sub(x, x0, out=self.directions[: len(x)])
        line = Line(x0, self.d, x.new_zeros(len(x), 0))
        self._length, self._kinks = self.process.length(line), self.process.kinks(line)
        self._targets: tuple[Tensor, Tensor] | None = None

    @property
    def d(self) -> Float[Tensor, "b d"]:
        """x - x0."""
        return self.directions[: self.rows]

    @property
    def rows(self) -> int:
        return len(self.x)

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
        """The stated accuracy of the target: relative to the target, and the floor of an absolute one."""
        return max(self.expectation.accuracy, ROUNDING) * (self.end.abs() + self.start.abs()) + self.floor

    @property
    def length(self) -> Float[Tensor, " b"]:
        return self._length

    def targets(self) -> tuple[Float[Tensor, "b o"], Float[Tensor, "b o"]]:
        """T(x) and T(x0). They come with the first sums over all lines, or are evaluated here if asked for earlier."""
        if self._targets is None:
            self._targets = self._targets_at_points()
        return self._targets

    def _targets_at_points(self) -> tuple[Float[Tensor, "b o"], Float[Tensor, "b o"]]:
        if not self.shared:
            return self._finished(self._target(Line.at(self.x)), self._target(Line.at(self.x0)))
        target = self._target(Line(self.x0, self.directions, self.x.new_ones(len(self.directions), 1)))
        return self._finished(target[:-1], target[-1:])

    def _finished(
        self, end: Float[Tensor, "b o"], start: Float[Tensor, "#b o"]
    ) -> tuple[Float[Tensor, "b o"], Float[Tensor, "b o"]]:
        """T(x) is T(x0), to the last bit, for an input that equals its baseline, however either was rounded."""
        unmoved = (self.d == 0).all(1, keepdim=True)
        return torch.where(unmoved, start, end), start.expand(self.rows, -1)

    @property
    def smooth(self) -> bool:
        return self.process.smooth

    @property
    def kinks(self) -> Float[Tensor, "b k"]:
        return self._kinks

    @property
    def kinked(self) -> bool:
        return self._kinks.shape[1] > self.process.cuts

    def sums(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"]
    ) -> Float[Tensor, "s r o d"]:
        """d_k sum_q weights_q [psi_m d_k m + psi_v d_k v]  (4.1), in blocks of rows."""
        return self._evaluated(rows, t, weights, lambda marginals, jet, w: NodeWeights.of(jet, w))[0]

    def panel_sums(self, panels: Panels, rows: Int[Tensor, " s"], order: int, tolerance: float) -> PanelSums:
        """The same for panels, in which a steep link is integrated on pieces  (4.10)."""
        t, w = panel_weights(order, kinked=self.kinked)

        def weigh(marginals: Marginals, jet: Jet, weights: Float[Tensor, "e r q"]) -> NodeWeights:
            steep = is_steep(self.expectation, marginals, len(t))
            if not bool(steep.any()):
                return NodeWeights.of(jet, weights)
            m, v = marginals.m[steep, :, : len(t)], marginals.v[steep, :, : len(t)]
            pieces = SteepPanels(self.expectation, self.outputs, m, v, order, tolerance).sums(kinked=self.kinked)
            return NodeWeights.of(jet, weights).with_pieces(steep, pieces, weights[steep, 0].sum(1))

        nodes = panels.start[:, None] + panels.width[:, None] * t
        sums, missed = self._evaluated(rows, nodes, panels.width[:, None, None] * w, weigh)
        return PanelSums.of(sums, missed, kinked=self.kinked)

    def _evaluated(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"], weigh: Weigh
    ) -> tuple[Float[Tensor, "s r o d"], Float[Tensor, "s o"] | None]:
        """The sums, and the part of them that pieces of panels miss.

        The first sums over all lines include the ends of the lines as nodes without a weight, which gives T there too.
        This is not done with autograd, whose gradients may not exist at a baseline.
        """
        r, o = weights.shape[1], len(self.outputs)
        if self._targets is not None or self.process.autograd or not self._covers_all_lines(rows):
            sums, missed, _ = self._blocks(rows, t, weights, t.new_empty(0), weigh)
            return sums.unflatten(1, (r, o)), missed
        ends = t.new_tensor([1.0] if self.shared else [1.0, 0.0])
        sums, missed, values = self._blocks(torch.arange(len(self.directions)), t, weights, ends, weigh)
        at_end = values[: self.rows, :, 0]
        self._targets = self._finished(at_end, values[self.rows :, :, 0] if self.shared else values[:, :, 1])
        return sums[: self.rows].unflatten(1, (r, o)), None if missed is None else missed[: self.rows]

    def _covers_all_lines(self, rows: Int[Tensor, " s"]) -> bool:
        return len(rows) == self.rows and torch.equal(rows, torch.arange(self.rows))

    def _blocks(
        self,
        lines: Int[Tensor, " e"],
        t: Float[Tensor, "s q"],
        weights: Float[Tensor, "s r q"],
        ends: Float[Tensor, " p"],
        weigh: Weigh,
    ) -> tuple[Float[Tensor, "e ro d"], Float[Tensor, "e o"] | None, Float[Tensor, "e o p"]]:
        """The sums over lines, what pieces miss of them, and T at the nodes `ends`, which have no weight."""
        channels, outputs, missed = weights.shape[1] * len(self.outputs), len(self.outputs), None
        sums = self.d.new_empty(len(lines), channels, self.d.shape[1])
        targets = self.d.new_empty(len(lines), outputs, len(ends))
        size = rows_in_a_block(numbers_on_a_line(self.process, t.shape[1] + len(ends), channels))
        for start in range(0, len(lines), size):
            block = slice(start, start + size)
            given = torch.arange(len(lines))[block].clamp(max=len(t) - 1)  # the additional line takes the last nodes
            d, x0 = self.directions[lines[block]], self.x0 if self.shared else self.x0[lines[block]]
            nodes = torch.cat([t[given], ends.expand(len(given), -1)], dim=1)
            marginals = self.process.along(Line(x0, d, nodes))
            jet = self.expectation.jet(marginals, self.outputs)
            node_weights = weigh(marginals, jet, weights[given])
            marginals.pull_back(node_weights.by_m, node_weights.by_v).evaluate(sums[block]).mul_(d[:, None])  # (4.1)
            targets[block] = jet.value[:, :, t.shape[1] :]
            if node_weights.missed is not None:
                missed = sums.new_full((len(lines), outputs), torch.nan) if missed is None else missed
                missed[block] = node_weights.missed
        return sums, missed, targets

    def _target(self, line: Line) -> Float[Tensor, "b o"]:
        blocks = line.split(rows_in_a_block(numbers_on_a_line(self.process, 1, 1)))
        jets = [self.expectation.jet(self.process.along(block), self.outputs) for block in blocks]
        return torch.cat([jet.value[:, :, 0] for jet in jets])
