"""Levels of nodes, one after the other, until two of them agree on the deviations of a path (MATH 5.14a)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import final

import torch
from jaxtyping import Bool, Float
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
GAINS = 2 / 3
"""A level whose error is more than this part of the last one's gains nothing: what is left is rounding."""


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
        b, shape = len(d), (len(d), len(self.outputs), d.shape[1])
        std, error, converged = d.new_empty(shape), d.new_full(shape, torch.inf), torch.zeros(b, dtype=torch.bool)
        covariances = d.new_empty(*shape, d.shape[1]) if self.request.covariances else None
        pending, last, excess = torch.arange(b), None, d.new_full((b,), torch.inf)
        for edges, level in self._attempts(self.process.kinks(Line(x0, d, d.new_zeros(b, 0))), length):
            grid = Grid.on(edges[pending], length[pending], level, smooth=self.process.smooth)
            if last is not None and grid.t.shape[1] > MOST:
                break
            matrix, unit = self._matrices(x0 if len(x0) == 1 else x0[pending], d[pending], grid, last)
            scaled = _diagonal(matrix, self.request).clamp(min=0).sqrt()  # a variance: below zero is rounding
            std[pending] = unit[..., None] * scaled
            if covariances is not None:
                covariances[pending] = unit[..., None, None] * (unit[..., None, None] * matrix)
            going_on = torch.ones_like(pending, dtype=torch.bool)
            if last is not None:
                change = MARGIN[self.process.smooth] * _change(matrix, last[0], scaled, self.request)
                now = quotient(change.amax(2), scaled.amax(2)).amax(1) / self.request.accuracy
                least = FLOOR * self.request.accuracy * scaled.amax(2, keepdim=True)
                error[pending] = unit[..., None] * torch.where(change > 0, torch.maximum(change, least), 0.0)
                converged[pending] = now <= 1
                going_on = (now > 1) & (now <= GAINS * excess)
                excess = now[going_on]
            pending, last = pending[going_on], (matrix[going_on], unit[going_on])
            if not len(pending):
                break
        return Deviations(std, error, converged, covariances)

    @property
    def levels(self) -> tuple[Level, ...]:
        """All that may be tried, from the coarsest on."""
        return SMOOTH if self.process.smooth else ROUGH

    def _attempts(
        self, kinks: Float[Tensor, "b k"], length: Float[Tensor, " b"]
    ) -> list[tuple[Float[Tensor, "b e"], Level]]:
        """Panels and levels, one after the other. Paths with known kinks are cut there after three of them."""
        equal = equal_panels(self.panels, len(kinks))
        cut = panels_between(kinks, ceil(float(length.max()) / PIECE) or 1)
        levels = [(equal, level) for level in self.levels[self.first :]]
        return levels if cut is None else levels[:UNCUT] + [(cut, level) for level in self.levels]

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


def _diagonal(matrix: Float[Tensor, "b o d *d"], request: Uncertainty) -> Float[Tensor, "b o d"]:
    return matrix.diagonal(dim1=2, dim2=3) if request.covariances else matrix


def _change(
    matrix: Float[Tensor, "b o d *d"],
    last: Float[Tensor, "b o d *d"],
    std: Float[Tensor, "b o d"],
    request: Uncertainty,
) -> Float[Tensor, "b o d"]:
    """The errors e_k of the deviations s_k if covariances change as from the last level  (5.14a).

    A change D of a variance s^2 changes s by no more than D / max(s, sqrt(D)).
    """
    change = (matrix - last).abs_()
    if not request.covariances:
        return quotient(change, torch.maximum(std, change.sqrt()))
    larger = torch.maximum(std[..., None], std[..., None, :])
    return quotient(change, torch.maximum(larger, change.sqrt())).amax(3)
