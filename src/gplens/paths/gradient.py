"""The gradient of a target along the lines from baselines to inputs, in blocks of rows (MATH 4.1).

There is one size of blocks of rows, and one estimate of what a row costs. Results do not depend on the
blocks: they bound the memory of temporaries, and keep these small enough for the caches.
"""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.line import Line
from gplens.paths.integrand import Integrand, Question
from gplens.processes.process import Process

ROUNDING = torch.finfo(torch.float64).eps
"""The relative rounding error of a target."""
BLOCK = 2**26
"""Bytes of the temporaries of a block. Recipe: benchmarks/blocks.py prints the time over block sizes."""
HELD = 6
"""Numbers held at once for each of the `width` of a process: distances, k, its slope, and products with them."""
SUMS = 10
"""Numbers that a path holds for each feature and output: x - x0, the sums of two rules, and what is settled."""
NODES = 48
"""Numbers that the nodes of a path and their weights take: three for each of sixteen nodes."""


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
        self._length = self.process.length(Line(x0, self.d, x.new_zeros(len(x), 0)))
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

    def sums(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"]
    ) -> Float[Tensor, "s r o d"]:
        """d_k sum_q weights_q [psi_m d_k m + psi_v d_k v]  (4.1), in blocks of rows.

        The first sums over all lines include the ends of the lines as nodes without a weight, which gives T there too.
        This is not done with autograd, whose gradients may not exist at a baseline.
        """
        r, o = weights.shape[1], len(self.outputs)
        if self._targets is not None or self.process.autograd or not self._covers_all_lines(rows):
            return self._blocks(rows, t, weights, t.new_empty(0))[0].unflatten(1, (r, o))
        ends = t.new_tensor([1.0] if self.shared else [1.0, 0.0])
        sums, values = self._blocks(torch.arange(len(self.directions)), t, weights, ends)
        at_end = values[: self.rows, :, 0]
        self._targets = self._finished(at_end, values[self.rows :, :, 0] if self.shared else values[:, :, 1])
        return sums[: self.rows].unflatten(1, (r, o))

    def _covers_all_lines(self, rows: Int[Tensor, " s"]) -> bool:
        return len(rows) == self.rows and torch.equal(rows, torch.arange(self.rows))

    def _blocks(
        self,
        lines: Int[Tensor, " e"],
        t: Float[Tensor, "s q"],
        weights: Float[Tensor, "s r q"],
        ends: Float[Tensor, " p"],
    ) -> tuple[Float[Tensor, "e ro d"], Float[Tensor, "e o p"]]:
        """The sums over lines, and T at the nodes `ends`, which have no weight."""
        channels, outputs = weights.shape[1] * len(self.outputs), len(self.outputs)
        sums = self.d.new_empty(len(lines), channels, self.d.shape[1])
        targets = self.d.new_empty(len(lines), outputs, len(ends))
        size = rows_in_a_block(numbers_on_a_line(self.process, t.shape[1] + len(ends), channels))
        for start in range(0, len(lines), size):
            block = slice(start, start + size)
            given = torch.arange(len(lines))[block].clamp(max=len(t) - 1)  # the additional line takes the last nodes
            nodes = torch.cat([t[given], ends.expand(len(given), -1)], dim=1)
            targets[block] = self._sums(lines[block], nodes, weights[given], sums[block])
        return sums, targets

    def _sums(
        self,
        lines: Int[Tensor, " e"],
        t: Float[Tensor, "e p"],
        weights: Float[Tensor, "e r q"],
        out: Float[Tensor, "e ro d"],
    ) -> Float[Tensor, "e o _"]:
        """Writes the sums of one block to `out`, and returns T at the nodes without a weight."""
        d, x0 = self.directions[lines], self.x0 if self.shared else self.x0[lines]
        marginals = self.process.along(Line(x0, d, t))
        jet = self.expectation.jet(marginals, self.outputs)
        wm = _weighted(weights, jet.by_m, t.shape[1])
        wv = None if jet.by_v is None else _weighted(weights, jet.by_v, t.shape[1])
        marginals.pull_back(wm, wv).evaluate(out).mul_(d[:, None])  # (4.1)
        return jet.value[:, :, weights.shape[2] :]

    def _target(self, line: Line) -> Float[Tensor, "b o"]:
        blocks = line.split(rows_in_a_block(numbers_on_a_line(self.process, 1, 1)))
        jets = [self.expectation.jet(self.process.along(block), self.outputs) for block in blocks]
        return torch.cat([jet.value[:, :, 0] for jet in jets])


def _weighted(
    weights: Float[Tensor, "s r q"], partials: Float[Tensor, "s o c p"], nodes: int
) -> Float[Tensor, "s ro c p"]:
    """weights_q psi_q, and zero (not a product with zero) at nodes without a weight."""
    q = weights.shape[2]
    products = (weights[:, :, None, None] * partials[:, None, ..., :q]).flatten(1, 2)
    return products if q == nodes else torch.nn.functional.pad(products, (0, nodes - q))


def rows_in_a_block(numbers: int) -> int:
    """The number of rows that fit into a block, at least one, if each takes so many float64 numbers."""
    return max(1, BLOCK // (8 * numbers))


def numbers_on_a_line(process: Process, nodes: int, channels: int) -> int:
    """What one line takes while its marginals are evaluated and `channels` of weights are pulled back."""
    return HELD * nodes * process.width + channels * (process.width + 2 * process.features)


def numbers_on_pairs(process: Process, nodes: int) -> int:
    """What one line takes while covariances between all pairs of its nodes are evaluated."""
    return nodes * numbers_on_a_line(process, nodes, 1) + 8 * nodes**2 * process.features


def numbers_of_a_path(features: int, outputs: int) -> int:
    """What the integral over one path takes, whatever the process."""
    return SUMS * features * outputs + NODES
