"""Levels of nodes, one after the other, until two of them agree on the deviations of a path (MATH 5.14c)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.expectations.link import Link
from gplens.lines.line import Line
from gplens.lines.units import quotient
from gplens.paths.blocks import numbers_on_pairs, rows_in_a_block
from gplens.processes.process import Process
from gplens.uncertainty.covariance import covariance
from gplens.uncertainty.grid import REACH, ROUGH, SMOOTH, Grid, Level, equal_panels, panels_between
from gplens.uncertainty.requests import Uncertainty

MOST = 1536
"""The most nodes of the integrand on a path; its pairs take 19 MB for each feature."""
HELD = 8
"""Numbers held at once for each pair of nodes and feature."""
MATRICES = 8
"""Matrices over pairs of features that a path holds at once: those of two levels, their parts and their error."""
MARGIN = {True: 2.0, False: 4.0}
"""Safety factor on the change between levels, by whether the kernel is smooth. Recipe: scripts/error_bar_levels.py"""
FLOOR = 0.1
"""The least error that is stated, as a part of the tolerance: two levels may agree by chance."""
UNCUT = 3
"""Levels that are tried before a path is cut at its kinks."""
PIECE = 1.6
"""The length of a panel of a path that is cut, in lengthscales."""
GAINS, STALLED = 2 / 3, 2
"""Levels whose error is more than this part of the last one's, and how many of them in a row end a refinement: what is
left is rounding."""


@final
@dataclass(frozen=True, eq=False)
class Deviations:
    """Standard deviations of the attributions of some paths, their stated errors, and covariances if asked for."""

    std: Float[Tensor, "b o d"]
    error: Float[Tensor, "b o d"]
    converged: Bool[Tensor, " b"]
    covariance: Float[Tensor, "b o d d"] | None


@final
@dataclass(frozen=True)
class Refinement:
    """What is refined: outputs with a link each, on paths of so many panels, from the same level on."""

    process: Process
    outputs: tuple[int, ...]
    links: Sequence[Link | None]
    request: Uncertainty
    panels: int
    first: int
    """The level that is tried first."""

    @property
    def rows_in_a_block(self) -> int:
        """The paths that are refined together."""
        d, level = self.process.features, self.levels[self.first + 1]
        pieces = 1 if self.process.smooth else ceil(REACH / level.piece)
        pairs = HELD * (self.panels * level.nodes * pieces) ** 2 * (1 + d)
        matrices = MATRICES * d**2 * len(self.outputs) if self.request.covariances else 0
        return rows_in_a_block(numbers_on_pairs(self.process, self.panels * level.latent) + pairs + matrices)

    def run(self, x0: Float[Tensor, "#b d"], d: Float[Tensor, "b d"], length: Float[Tensor, " b"]) -> Deviations:
        """Levels for all paths, then for those on which the last two do not agree yet."""
        shape = (len(d), len(self.outputs), d.shape[1])
        result = Deviations(
            d.new_empty(shape),
            d.new_full(shape, torch.inf),
            torch.zeros(len(d), dtype=torch.bool),
            d.new_empty(*shape, d.shape[1]) if self.request.covariances else None,
        )
        for edges, levels in self._stages(self.process.kinks(Line(x0, d, d.new_zeros(len(d), 0))), length):
            self._refine(result, x0, d, length, edges, levels)
        return result

    @property
    def levels(self) -> tuple[Level, ...]:
        """All that may be tried, from the coarsest on."""
        return SMOOTH if self.process.smooth else ROUGH

    def _stages(
        self, kinks: Float[Tensor, "b k"], length: Float[Tensor, " b"]
    ) -> list[tuple[Float[Tensor, "b e"], tuple[Level, ...]]]:
        """Panels and their levels. Paths with known kinks are cut there after three of them, others into a third."""
        equal, levels = equal_panels(self.panels, len(kinks)), self.levels[self.first :]
        cut = panels_between(kinks, ceil(float(length.max()) / PIECE) or 1)
        if cut is not None:
            return [(equal, levels[:UNCUT]), (cut, self.levels)]
        return [(equal, levels), (equal_panels(3 * self.panels, len(kinks)), self.levels[self.first + UNCUT :])]

    def _refine(
        self,
        result: Deviations,
        x0: Float[Tensor, "#b d"],
        d: Float[Tensor, "b d"],
        length: Float[Tensor, " b"],
        edges: Float[Tensor, "b e"],
        levels: tuple[Level, ...],
    ) -> None:
        """Level after level, for the paths that have not converged and still gain."""
        pending, last = (~result.converged).nonzero()[:, 0], None
        excess, stalled = d.new_full((len(pending),), torch.inf), torch.zeros_like(pending)
        for level in levels if len(pending) else ():
            grid = Grid.on(edges[pending], length[pending], level, smooth=self.process.smooth)
            if last is not None and grid.t.shape[1] > MOST:
                break
            matrix, unit = self._matrices(x0 if len(x0) == 1 else x0[pending], d[pending], grid, last)
            going_on = torch.ones_like(pending, dtype=torch.bool)
            if last is not None:
                now = self._write(result, pending, matrix, unit, last[0])
                stalled = torch.where(now > GAINS * excess, stalled + 1, 0)
                going_on = (now > 1) & (stalled < STALLED)
                excess, stalled = now[going_on], stalled[going_on]
            pending, last = pending[going_on], (matrix[going_on], unit[going_on])
            if not len(pending):
                break

    def _write(
        self,
        result: Deviations,
        rows: Int[Tensor, " p"],
        matrix: Float[Tensor, "p o d *d"],
        unit: Float[Tensor, "p o"],
        last: Float[Tensor, "p o d *d"],
    ) -> Float[Tensor, " p"]:
        """The results of a level, and their errors, from those of the last one; the largest one, in tolerances."""
        full, tolerance, size = self.request.covariances, self.request.accuracy, unit[..., None]
        variances = matrix.diagonal(dim1=2, dim2=3) if full else matrix
        std = variances.clamp(min=0).sqrt()  # below zero is rounding
        largest = std.amax(2, keepdim=True)
        error = MARGIN[self.process.smooth] * _change(matrix, last, std, full=full)
        known = torch.where((std > 0) | (error > 0), torch.maximum(error, FLOOR * tolerance * largest), 0.0)
        now = quotient(error, tolerance * largest).flatten(1).amax(1)
        result.std[rows], result.error[rows], result.converged[rows] = size * std, size * known, now <= 1
        if result.covariance is not None:
            result.covariance[rows] = size[..., None] * (size[..., None] * matrix)
        return now

    def _matrices(
        self,
        x0: Float[Tensor, "#b d"],
        d: Float[Tensor, "b d"],
        grid: Grid,
        last: tuple[Float[Tensor, "b o d *d"], Float[Tensor, "b o"]] | None,
    ) -> tuple[Float[Tensor, "b o d *d"], Float[Tensor, "b o"]]:
        """The covariances of every output in units of unit^2, and the unit, which is that of the last level."""
        units = [None] * len(self.outputs) if last is None else last[1].unbind(1)
        parts = [
            covariance(self.process, output, link, x0, d, grid, unit, full=self.request.covariances)
            for output, link, unit in zip(self.outputs, self.links, units, strict=True)
            if link is not None
        ]
        matrices, found = zip(*parts, strict=True)
        return torch.stack(matrices, dim=1), torch.stack(found, dim=1)


def _change(
    matrix: Float[Tensor, "b o d *d"], last: Float[Tensor, "b o d *d"], std: Float[Tensor, "b o d"], *, full: bool
) -> Float[Tensor, "b o d"]:
    """The errors e_k of the deviations s_k if covariances change as from the last level  (5.14c).

    A change D of a variance s^2 changes s by no more than D / max(s, sqrt(D)).
    """
    change = (matrix - last).abs_()
    if not full:
        return quotient(change, torch.maximum(std, change.sqrt()))
    larger = torch.maximum(std[..., None], std[..., None, :])
    return quotient(change, torch.maximum(larger, change.sqrt())).amax(3)
