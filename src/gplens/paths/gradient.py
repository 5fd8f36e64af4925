"""The integral of the gradient of a target along the lines from baselines to inputs (MATH 4.1)."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.expectations.expectation import Expectation
from gplens.lines.line import Line
from gplens.paths.rules import Integrand
from gplens.processes.process import Process

BLOCK = 2**26
"""Bytes of temporaries beyond which a block of rows is no faster: as many as malloc keeps when they are freed. Recipe:
benchmarks/blocks.py."""


@final
@dataclass(frozen=True)
class PathGradient(Integrand):
    """d_k times the gradient of T = psi(m, v) on b lines, for the outputs asked for: what a rule integrates."""

    process: Process
    expectation: Expectation
    outputs: tuple[int, ...]
    x0: Float[Tensor, "#b d"]
    x: Float[Tensor, "b d"]
    memory: int
    """Bytes that temporaries may take."""

    @property
    def d(self) -> Float[Tensor, "b d"]:
        """x - x0."""
        return self._d[: self.rows]

    @cached_property
    def _d(self) -> Float[Tensor, "e d"]:
        """Of the lines, and of one more that stays at the baseline where all share it."""
        d = self.x.new_zeros(self.rows + self._shared, self.x.shape[1])
        torch.sub(self.x, self.x0, out=d[: self.rows])
        return d

    @property
    def _shared(self) -> bool:
        return len(self.x0) == 1

    @property
    def end(self) -> Float[Tensor, "b o"]:
        """T(x)."""
        return self._ends[0]

    @property
    def start(self) -> Float[Tensor, "b o"]:
        """T(x0), computed once where all rows share it."""
        return self._ends[1].expand(self.rows, -1)

    @cached_property
    def _ends(self) -> tuple[Float[Tensor, "b o"], Float[Tensor, "#b o"]]:
        """T at t = 1 and at t = 0, unless they came with the first sums over the lines."""
        if not self._shared:
            return self._target(Line.at(self.x)), self._target(Line.at(self.x0))
        found = self._target(Line(self.x0, self._d, self.x.new_ones(len(self._d), 1)))
        return found[:-1], found[-1:]

    @property
    def change(self) -> Float[Tensor, "b o"]:
        """T(x) - T(x0)."""
        return self.end - self.start

    @property
    def rounding(self) -> Float[Tensor, "b o"]:
        """The unit in the last place of T: a change below it is not a change."""
        return self.process.rounding * (self.end.abs() + self.start.abs())

    @property
    def floor(self) -> float:
        """That of the target."""
        return self.expectation.floor

    @property
    def gap_floor(self) -> Float[Tensor, "b o"]:
        """The stated accuracy of the target itself."""
        return max(self.expectation.accuracy, self.process.rounding) * (1 + self.end.abs() + self.start.abs())

    @property
    def rows(self) -> int:
        """b."""
        return self.x.shape[0]

    @property
    def length(self) -> Float[Tensor, " b"]:
        """The length of the lines in lengthscales."""
        return self._length

    @cached_property
    def _length(self) -> Float[Tensor, " b"]:
        return self.process.length(Line(self.x0, self.d, self.x.new_zeros(self.x.shape[0], 0)))

    def sums(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"]
    ) -> Float[Tensor, "s r o d"]:
        """d_k sum_q weights_q [psi_m d_k m + psi_v d_k v]  (4.1), in blocks of bounded memory.

        The first sums over all lines have their ends as nodes without a weight, so that T is known there too; not by
        autograd, whose gradients may not exist where a path begins.
        """
        r, o, first = weights.shape[1], len(self.outputs), self._first(rows)
        ends = t.new_tensor([1.0, 0.0][: 2 - self._shared] if first else [])
        lines = torch.arange(len(self._d)) if first else rows
        found, values = self.d.new_empty(len(lines), r * o, self.d.shape[1]), []
        for at in torch.arange(len(lines)).split(self._block(t.shape[1] + len(ends), r)):
            own = at.clamp(max=len(rows) - 1)  # the line that stays at the baseline takes the nodes of the last
            nodes = torch.cat([t[own], ends.expand(len(at), -1)], dim=1)
            values.append(self._sums(lines[at], nodes, weights[own], found[at[0] : at[-1] + 1]))
        if first:
            at_end, *at_start = joined(values).unbind(2)
            vars(self)["_ends"] = (at_end[: self.rows], at_start[0] if at_start else at_end[self.rows :])
        return found[: len(rows)].unflatten(1, (r, o))

    def _first(self, rows: Int[Tensor, " s"]) -> bool:
        """Whether these are all lines, once each, and their ends not known."""
        if "_ends" in vars(self) or self.process.autograd or len(rows) != self.rows:
            return False
        return torch.equal(rows, torch.arange(self.rows))

    def _sums(
        self,
        rows: Int[Tensor, " s"],
        t: Float[Tensor, "s p"],
        weights: Float[Tensor, "s r q"],
        out: Float[Tensor, "s ro d"],
    ) -> Float[Tensor, "s o _"]:
        d, x0 = self._d[rows], self.x0 if self._shared else self.x0[rows]
        marginals = self.process.along(Line(x0, d, t))
        jet = self.expectation.jet(marginals, self.outputs)
        wm = _weighted(weights, jet.by_m, t.shape[1])
        wv = None if jet.by_v is None else _weighted(weights, jet.by_v, t.shape[1])
        marginals.pull_back(wm, wv).evaluate(out).mul_(d[:, None])  # (4.1)
        return jet.value[:, :, weights.shape[2] :].clone()  # so that the other nodes' are let go

    def _block(self, nodes: int, channels: int) -> int:
        """Rows whose temporaries fit into the memory: those of the process, and the features of all channels."""
        p = channels * len(self.outputs)
        return rows_within(self.memory, self.process.floats(nodes, p) + 2 * p * self.process.features)

    def _target(self, line: Line) -> Float[Tensor, "b o"]:
        pieces = line.split(self._block(1, 1))
        return joined(
            [self.expectation.jet(self.process.along(piece), self.outputs).value[:, :, 0] for piece in pieces]
        )


def _weighted(
    weights: Float[Tensor, "s r q"], partials: Float[Tensor, "s o c p"], nodes: int
) -> Float[Tensor, "s ro c p"]:
    """weights_q psi_q, and zero, not a product with zero, at nodes without a weight."""
    q = weights.shape[2]
    found = (weights[:, :, None, None] * partials[:, None, ..., :q]).flatten(1, 2)
    return found if q == nodes else torch.nn.functional.pad(found, (0, nodes - q))


def joined(pieces: list[Tensor]) -> Tensor:
    """One after the other; a single one as it is, which spares a copy of the result."""
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces)


def rows_within(memory: int, floats: int) -> int:
    """As many rows as fit, each with so many numbers; one at the least."""
    return max(1, min(memory, BLOCK) // (8 * floats))
