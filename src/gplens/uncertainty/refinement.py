"""Finer and finer levels of nodes, until two of them agree on the deviations of a path (MATH 5.14c)."""

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
from gplens.processes.bundle import Bundle
from gplens.processes.process import Process, rows_in_a_block
from gplens.uncertainty.between_paths import bundle_covariance
from gplens.uncertainty.covariance import covariance
from gplens.uncertainty.grid import REACH, ROUGH, SMOOTH, Grid, Level, equal_panels, numbers_on_pairs, panels_between
from gplens.uncertainty.requests import Uncertainty

MOST = 1536
"""The most nodes of the integrand on a path; its pairs take 19 MB for each feature."""
HELD = 8
"""Numbers held at once for each pair of nodes and feature."""
MATRICES = 8
"""Matrices over pairs of features that a path holds at once: two levels, their parts and their error."""
MARGIN = {True: 2.0, False: 4.0}
"""Safety factor on the change between levels, for smooth and rough kernels. Recipe: scripts/error_bar_levels.py"""
SHARED = 0.5
"""The smallest error of a feature as a part of the largest one: on a single feature, levels may agree by chance."""
UNCUT = 3
"""The number of levels that are tried before a path is cut at its kinks."""
PIECE = 1.6
"""The length of a panel of a path that is cut, in lengthscales."""
GAINS, STALLED = 2 / 3, 2
"""A refinement ends, because the rest is rounding, after so many levels in a row whose error is more than this part of
the previous level's error."""

Attempt = tuple[Tensor, Level]
"""The edges (b, e) of panels, and their level."""


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
    """A refinement: outputs with one link each, on paths with the same number of panels and the same first level."""

    process: Process
    outputs: tuple[int, ...]
    links: Sequence[Link | None]
    request: Uncertainty
    panels: int
    first: int
    """The number of the level that is tried first."""

    @property
    def rows_in_a_block(self) -> int:
        """The paths that are refined together."""
        d, level = self.process.features, self.levels[1]
        pieces = 1 if self.process.smooth else ceil(REACH / level.piece)
        pairs = HELD * (self.panels * level.nodes * pieces) ** 2 * (1 + d)
        matrices = MATRICES * d**2 * len(self.outputs) if self.request.covariances else 0
        return rows_in_a_block(numbers_on_pairs(self.process, self.panels * level.latent) + pairs + matrices)

    def run(self, x0: Float[Tensor, "#b d"], d: Float[Tensor, "b d"], length: Float[Tensor, " b"]) -> Deviations:
        """Try levels for all paths, then for the paths on which the last two levels do not agree yet."""
        shape = (len(d), len(self.outputs), d.shape[1])
        result = Deviations(
            d.new_empty(shape),
            d.new_full(shape, torch.inf),
            torch.zeros(len(d), dtype=torch.bool),
            d.new_empty(*shape, d.shape[1]) if self.request.covariances else None,
        )
        for attempts, wary in self._stages(self.process.kinks(Line(x0, d, d.new_zeros(len(d), 0))), length):
            self._refine(result, x0, d, length, attempts, wary=wary)
        return result

    @property
    def levels(self) -> tuple[Level, ...]:
        """All levels that may be tried, from the first one on."""
        return SMOOTH[self.first :] if self.process.smooth else ROUGH[self.first :: 2]

    def _stages(self, kinks: Float[Tensor, "b k"], length: Float[Tensor, " b"]) -> list[tuple[list[Attempt], bool]]:
        """The sequence of panels and levels, and whether there may be kinks inside panels.

        Paths with known kinks are cut there after three levels; others are cut into thirds after all levels.
        """
        equal = [(equal_panels(self.panels, len(kinks)), level) for level in self.levels]
        cut = panels_between(kinks, ceil(float(length.max()) / PIECE) or 1)
        if cut is not None and self.process.paths == 1:
            return [(equal[:UNCUT], True), ([(cut, level) for level in self.levels], self.process.autograd)]
        kinked = bool(((kinks > 0) & (kinks < 1)).any()) or self.process.autograd
        finer = equal_panels(3 * self.panels, len(kinks))
        return [(equal + [(finer, level) for level in self.levels[UNCUT:]], kinked)]

    def _refine(
        self,
        result: Deviations,
        x0: Float[Tensor, "#b d"],
        d: Float[Tensor, "b d"],
        length: Float[Tensor, " b"],
        attempts: list[Attempt],
        *,
        wary: bool,
    ) -> None:
        """Level after level, for the paths that have not converged and still improve.

        In a panel with kinks two levels may agree by chance; with `wary`, three levels have to agree.
        """
        pending, last = (~result.converged).nonzero()[:, 0], None
        shape = (len(pending), *result.std.shape[1:])
        before, excess = d.new_full(shape, torch.inf if wary else 0.0), d.new_full(shape[:1], torch.inf)
        stalled = torch.zeros_like(pending)
        for edges, level in attempts if len(pending) else ():
            grid = Grid.on(edges[pending], length[pending], level, smooth=self.process.smooth)
            if last is not None and grid.t.shape[1] > MOST:
                break
            matrix, unit = self._matrices(x0 if len(x0) == 1 else x0[pending], d[pending], grid, last)
            going_on = torch.ones_like(pending, dtype=torch.bool)
            if last is not None:
                std = _diagonal(matrix, full=self.request.covariances).clamp(min=0).sqrt()  # below zero is rounding
                change = MARGIN[self.process.smooth] * _change(matrix, last[0], std, full=self.request.covariances)
                now = self._write(result, pending, matrix, unit, std, torch.maximum(change, before))
                stalled = torch.where(now > GAINS * excess, stalled + 1, 0)
                going_on = (now > 1) & (stalled < STALLED)
                before = change[going_on] if wary else before[going_on]
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
        std: Float[Tensor, "p o d"],
        error: Float[Tensor, "p o d"],
    ) -> Float[Tensor, " p"]:
        """Write the results of a level, given in units; return the largest error in units of the tolerance."""
        tolerance, largest, size = self.request.accuracy, std.amax(2, keepdim=True), unit[..., None]
        least = torch.maximum(tolerance * largest, SHARED * error.amax(2, keepdim=True))
        stated = torch.where((std > 0) | (error > 0), torch.maximum(error, least), 0.0)  # (5.14c)
        now = quotient(error, tolerance * largest).flatten(1).amax(1)
        result.std[rows], result.error[rows], result.converged[rows] = size * std, size * stated, now <= 1
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
        """The covariances of every output in units of unit^2, and the unit, which the next level uses again."""
        units = [None] * len(self.outputs) if last is None else last[1].unbind(1)
        full, process = self.request.covariances, self.process
        parts = [
            bundle_covariance(process, output, link, grid, unit, full=full)
            if isinstance(process, Bundle)
            else covariance(process, output, link, x0, d, grid, unit, full=full)
            for output, link, unit in zip(self.outputs, self.links, units, strict=True)
            if link is not None
        ]
        matrices, units_now = zip(*parts, strict=True)
        return torch.stack(matrices, dim=1), torch.stack(units_now, dim=1)


def _diagonal(matrix: Float[Tensor, "b o d *d"], *, full: bool) -> Float[Tensor, "b o d"]:
    return matrix.diagonal(dim1=2, dim2=3) if full else matrix


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
