"""A process whose paths are cut where a target has kinks (MATH 4.9b, 11.9)."""

from collections.abc import Callable
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.pairs import Pairs, SplitPairs
from gplens.processes.crossings import Levels
from gplens.processes.latent_sources import Sources
from gplens.processes.process import Marginals, Process
from gplens.processes.wrapping import Wrapping

Places = Callable[[Line], Float[Tensor, "b k"]]
GRADES = 16
"""The number of cuts towards the baseline, at powers of 1/4: down to 2e-10 of the path."""


@final
class Cut(Wrapping):
    """The same latent functions, with paths that are cut at additional places.

    Args:
        base: the latent functions.
        places: the places t in (0, 1) at which each line is cut; shorter rows are filled with NaN.
        most: the most places at which one line is cut.
        held: the numbers that the target holds for each node, which count in the size of blocks of rows.
    """

    def __init__(self, base: Process, places: Places, most: int, held: int = 0) -> None:
        self.base, self.places, self.most, self.held = base, places, most, held

    @staticmethod
    def at_levels(base: Process, levels: Levels, held: int) -> "Cut":
        """The places where functions of x cross thresholds; each threshold may be crossed twice, if the path turns."""
        return Cut(base, levels.crossings, 2 * sum(len(thresholds) for thresholds in levels.thresholds), held)

    @staticmethod
    def graded(base: Process) -> "Cut":
        """Ever finer cuts towards the baseline, where the logarithm of an improvement over it has a singularity."""
        grades = 4.0 ** -torch.arange(1, GRADES + 1, dtype=torch.float64)
        return Cut(base, lambda line: grades.expand(len(line.d), -1), GRADES)

    @property
    def width(self) -> int:
        return self.base.width + self.held

    @property
    def cuts(self) -> int:
        return self.base.cuts + self.most

    def kinks(self, line: Line) -> Float[Tensor, "b k"]:
        return torch.cat([self.base.kinks(line), self.places(line)], dim=1)

    def along(self, line: Line) -> Marginals:
        return self.base.along(line)

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        return self.base.pairs(left, right, latent)

    def split_pairs(self, line: Line, latent: int) -> SplitPairs:
        return self.base.split_pairs(line, latent)

    def select(self, latents: tuple[int, ...]) -> Process:
        return Cut(self.base.select(latents), self.places, self.most, self.held)

    def sources(self) -> Sources | None:
        return self.base.sources()
