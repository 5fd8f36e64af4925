"""The integral of the gradient of a target along the lines from baselines to inputs (MATH 4.1)."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.functional import Functional
from gplens.line import Line
from gplens.paths.rules import Integrand
from gplens.process import Process

BLOCK = 2**26
"""Bytes of temporaries beyond which a block of rows is no faster. Recipe: benchmarks/blocks.py."""


@final
@dataclass(frozen=True)
class PathGradient(Integrand):
    """d_k times the gradient of T = psi(m, v) on b lines, for the outputs asked for: what a rule integrates."""

    process: Process
    functional: Functional
    outputs: tuple[int, ...]
    x0: Float[Tensor, "#b d"]
    x: Float[Tensor, "b d"]
    memory: int
    """Bytes that temporaries may take."""

    @cached_property
    def d(self) -> Float[Tensor, "b d"]:
        """x - x0."""
        return self.x - self.x0

    @cached_property
    def end(self) -> Float[Tensor, "b o"]:
        """T(x)."""
        return self._ends[: self.rows]

    @cached_property
    def start(self) -> Float[Tensor, "b o"]:
        """T(x0), computed once where all rows share it."""
        return self._ends[self.rows :].expand(self.rows, -1)

    @cached_property
    def _ends(self) -> Float[Tensor, "e o"]:
        """At t = 1 of the lines, then at their starts: at t = 0 of one more line where all share it."""
        if len(self.x0) > 1:
            return joined([self._target(Line.at(self.x)), self._target(Line.at(self.x0))])
        d = torch.cat([self.d, torch.zeros_like(self.x0)])
        return self._target(Line(self.x0, d, d.new_ones(len(d), 1)))

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
        return self.functional.floor

    @property
    def gap_floor(self) -> Float[Tensor, "b o"]:
        """The stated accuracy of the target itself."""
        return max(self.functional.accuracy, self.process.rounding) * (1 + self.end.abs() + self.start.abs())

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
        """d_k sum_q weights_q [psi_m d_k m + psi_v d_k v]  (4.1), in blocks of bounded memory."""
        block, channels = self._block(t.shape[1], weights.shape[1]), weights.shape[1] * len(self.outputs)
        found = self.d.new_empty(len(rows), channels, self.d.shape[1])
        for piece in zip(rows.split(block), t.split(block), weights.split(block), found.split(block), strict=True):
            self._sums(*piece)
        return found.unflatten(1, (weights.shape[1], len(self.outputs)))

    def _sums(
        self,
        rows: Int[Tensor, " s"],
        t: Float[Tensor, "s q"],
        weights: Float[Tensor, "s r q"],
        out: Float[Tensor, "s ro d"],
    ) -> None:
        d, x0 = self.d[rows], self.x0 if self.x0.shape[0] == 1 else self.x0[rows]
        marginals = self.process.along(Line(x0, d, t))
        jet = self.functional.jet(marginals, self.outputs)
        w = weights[:, :, None, None]
        wm = (w * jet.by_m[:, None]).flatten(1, 2)
        wv = None if jet.by_v is None else (w * jet.by_v[:, None]).flatten(1, 2)
        marginals.pull_back(wm, wv).evaluate(out).mul_(d[:, None])  # (4.1)

    def _block(self, nodes: int, channels: int) -> int:
        """Rows whose temporaries fit into the memory: those of the process, and the features of all channels."""
        p = channels * len(self.outputs)
        return rows_within(self.memory, self.process.floats(nodes, p) + 4 * p * self.process.features)

    def _target(self, line: Line) -> Float[Tensor, "b o"]:
        pieces = line.split(self._block(1, 1))
        return joined([self.functional.jet(self.process.along(piece), self.outputs).value[:, :, 0] for piece in pieces])


def joined(pieces: list[Tensor]) -> Tensor:
    """One after the other; a single one as it is, which spares a copy of the result."""
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces)


def rows_within(memory: int, floats: int) -> int:
    """As many rows as fit, each with so many numbers; one at the least."""
    return max(1, min(memory, BLOCK) // (8 * floats))
