"""Nodes of the lines of paths that change categories, and attributions as sums over them (MATH 10.4)."""

from dataclasses import dataclass
from math import ceil
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.switches import Switches
from gplens.paths.panels import gauss_kronrod
from gplens.processes.process import Process
from gplens.uncertainty.grid import REACH


@final
@dataclass(frozen=True, eq=False)
class SwitchNodes:
    """n nodes on all lines of the paths to one input, one after the other.

    IG_j = sum_n values_nj T_n + sum_n slopes_nj d_j T_n:  categories from values, numbers from derivatives  (10.4).
    """

    x: Float[Tensor, "n d"]
    values: Float[Tensor, "2 n d"]
    """The weights of T, by the rule and by the coarser one on the same nodes."""
    slopes: Float[Tensor, "2 n d"]
    """The weights of the derivatives of T."""

    @staticmethod
    def on(
        process: Process,
        switches: Switches,
        x: Float[Tensor, " d"],
        baselines: Float[Tensor, "s d"],
        shares: Float[Tensor, " s"],
        order: int,
        parts: int,
    ) -> "SwitchNodes":
        """2 order + 1 nodes on every part of a panel of up to 2.5 lengthscales."""
        corners = switches.corners(baselines, x.expand_as(baselines))
        lengths = process.length(Line(corners.x0, corners.d, x.new_zeros(len(corners.d), 0)))
        panels = parts * max(1, ceil(float(lengths.max()) / REACH))
        t, w = _rule(panels, order)
        nodes = t.expand(len(corners.d), -1)
        share = shares[corners.owner][:, None] * w[:, None]
        of_numbers = (share * corners.weights(nodes))[..., None] * corners.d[:, None]
        of_blocks = share[:, :, None] * corners.differences(nodes)
        values = torch.zeros_like(of_numbers)
        values[..., switches.places] = of_blocks.transpose(2, 3)
        points = Line(corners.x0, corners.d, nodes).points()
        return SwitchNodes(points.flatten(0, 1), values.flatten(1, 2), of_numbers.flatten(1, 2))

    @property
    def moved(self) -> list[int]:
        """The numbers that change on some path."""
        return (self.slopes[0] != 0).any(0).nonzero()[:, 0].tolist()

    @property
    def size(self) -> int:
        """Values and derivatives at all nodes."""
        return len(self.x) * (1 + len(self.moved))


def _rule(panels: int, order: int) -> tuple[Float[Tensor, " q"], Float[Tensor, "2 q"]]:
    """Nodes on equal panels, with Kronrod's weights and Gauss's."""
    t, *weights = (torch.as_tensor(part) for part in gauss_kronrod(order))
    edges = torch.arange(panels, dtype=t.dtype) / panels
    return (edges[:, None] + t / panels).flatten(), torch.stack([(w / panels).repeat(panels) for w in weights])
