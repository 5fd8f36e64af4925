"""Memory that blocks of rows reuse one after the other."""

from collections.abc import Callable
from math import prod
from typing import final

import torch
from torch import Tensor

SIZE = 2**22 - 2**10
"""Numbers: just below 32 MB, the largest piece that glibc's malloc keeps when it is freed. Recipe:
benchmarks/blocks.py"""
ALIGNED = 8
"""Tensors begin at multiples of so many numbers, where vector instructions are fastest."""
New = Callable[[Tensor], Tensor]
"""Makes an uninitialised tensor like the given one, as `torch.empty_like` does."""


@final
class Scratch:
    """Tensors of a block of rows, cut from one piece of memory; `reset` makes all of it available to the next block.

    The system clears every page of newly allocated memory, which takes longer than the arithmetic on it. The code that
    integrates a table holds one of these for each thread, and no tensor of it outlives its block. The memory is one
    piece, because glibc's malloc keeps a piece of up to 32 MB for the next call, and returns several that add up to
    more than twice the largest of them to the system.
    """

    def __init__(self) -> None:
        self.memory = torch.empty(SIZE, dtype=torch.float64)
        self.taken = 0

    def reset(self) -> None:
        self.taken = 0

    def empty(self, shape: tuple[int, ...]) -> Tensor:
        """An uninitialised float64 tensor; newly allocated if the memory is used up."""
        first, last = self.taken, self.taken + prod(shape)
        if last > len(self.memory):
            return torch.empty(shape, dtype=torch.float64)
        self.taken = -(-last // ALIGNED) * ALIGNED
        return self.memory[first:last].view(shape)
