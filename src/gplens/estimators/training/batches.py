"""Randomness as a function of the seed and the step, so that a resumed fit needs no state of a generator."""

from dataclasses import dataclass, field
from typing import final

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor


def generator_of(seed: int, stream: int) -> torch.Generator:
    """A stream of its own for each step, and from ORDERS on for each pass over the table.

    torch's generator on the CPU looks at 32 bits of its seed, so that both numbers are mixed into them.
    """
    return torch.Generator().manual_seed(int(np.random.SeedSequence([seed, stream]).generate_state(1)[0]))


ORDERS = 2**31
PLACEMENT = 2**32 - 1
LOOKS = 2**32 - 2
"""Streams for the order of the rows, for the inducing points, and for the look at the held-out rows."""


@final
@dataclass
class Batches:
    """Every row once in each pass over the table, in an order that is new for each pass."""

    rows: int
    size: int
    seed: int
    _order: tuple[int, Int[Tensor, " n"]] | None = field(default=None, init=False)

    def __getitem__(self, step: int) -> Int[Tensor, " b"]:
        """The rows of a step; the last ones of a pass that do not fill a batch are left out of it."""
        if self.size >= self.rows:
            return torch.arange(self.rows)
        turn, place = divmod(step, self.rows // self.size)
        if self._order is None or self._order[0] != turn:
            self._order = turn, torch.randperm(self.rows, generator=generator_of(self.seed, ORDERS + turn))
        return self._order[1][place * self.size : (place + 1) * self.size]
