"""What was read from a host's model, with the check that it is the model, made again for points farther out."""

from collections.abc import Callable
from dataclasses import replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import Adapted


@final
class Reading:
    """A model as gplens sees it, and a check against the host at points, which refuses or says how close they are."""

    def __init__(self, adapted: Adapted, check: Callable[[Float[Tensor, "k d"]], tuple[str, ...]]) -> None:
        self.adapted, self.check = adapted, check
        self.found: tuple[str, ...] = ()
        self.low, self.high = torch.full((2, adapted.process.features), torch.nan, dtype=torch.float64)

    def at(self, points: Float[Tensor, "k d"]) -> Adapted:
        """With a note of what was found at the points, unless all lie among those that were checked before."""
        if not bool(((points >= self.low) & (points <= self.high)).all()):
            self.found = self.check(points)
            self.low, self.high = torch.fmin(self.low, points.amin(0)), torch.fmax(self.high, points.amax(0))
        return replace(self.adapted, notes=(*self.adapted.notes, *self.found))
