"""A process whose paths are cut where a target has kinks (MATH 4.9b, 10.9)."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.pairs import Pairs, SplitPairs
from gplens.processes.crossings import Levels
from gplens.processes.process import Marginals, Process, Sources


@final
class Cut(Process):
    """The same latent functions, with paths that are cut where functions of x cross thresholds.

    Args:
        base: the latent functions.
        levels: the functions and their thresholds.
        held: numbers that a target holds for each node, for which blocks of rows leave room.
    """

    def __init__(self, base: Process, levels: Levels, held: int = 0) -> None:
        self.base, self.levels, self.held = base, levels, held

    @property
    def latents(self) -> int:
        return self.base.latents

    @property
    def features(self) -> int:
        return self.base.features

    @property
    def autograd(self) -> bool:
        return self.base.autograd

    @property
    def smooth(self) -> bool:
        return self.base.smooth

    @property
    def paths(self) -> int:
        return self.base.paths

    @property
    def width(self) -> int:
        return self.base.width + self.held

    @property
    def cuts(self) -> int:
        """Twice the number of thresholds: a path that turns crosses each of them twice."""
        return self.base.cuts + 2 * sum(len(thresholds) for thresholds in self.levels.thresholds)

    def kinks(self, line: Line) -> Float[Tensor, "b k"]:
        return torch.cat([self.base.kinks(line), self.levels.crossings(line)], dim=1)

    def along(self, line: Line) -> Marginals:
        return self.base.along(line)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        return self.base.length(line)

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        return self.base.pairs(left, right, latent)

    def split_pairs(self, line: Line, latent: int) -> SplitPairs:
        return self.base.split_pairs(line, latent)

    def select(self, latents: tuple[int, ...]) -> Process:
        return Cut(self.base.select(latents), self.levels, self.held)

    def sources(self) -> Sources | None:
        return self.base.sources()
