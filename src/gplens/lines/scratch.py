"""Memory that blocks of rows reuse one after the other."""

from collections.abc import Callable
from math import prod
from typing import final

import torch
from torch import Tensor

New = Callable[[Tensor], Tensor]
"""Makes an uninitialised tensor like the given one, as `torch.empty_like` does."""


@final
class Scratch:
    """Tensors of a block of rows, taken in turn; `reset` makes all of them available to the next block.

    The system clears every page of newly allocated memory, which takes longer than the arithmetic on it. The code that
    integrates a table holds one of these for each thread, and no tensor of it outlives its block.
    """

    def __init__(self) -> None:
        self.buffers: list[Tensor] = []
        self.taken = 0

    def reset(self) -> None:
        self.taken = 0

    def empty(self, shape: tuple[int, ...]) -> Tensor:
        """An uninitialised float64 tensor."""
        size = prod(shape)
        if self.taken == len(self.buffers):
            self.buffers.append(torch.empty(size, dtype=torch.float64))
        elif self.buffers[self.taken].shape[0] < size:
            self.buffers[self.taken] = torch.empty(size, dtype=torch.float64)
        buffer, self.taken = self.buffers[self.taken], self.taken + 1
        return buffer[:size].view(shape)
