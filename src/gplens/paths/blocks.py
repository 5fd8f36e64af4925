"""Blocks of rows: their size, the threads that compute them, and the attributions that they are joined to.

Results do not depend on the blocks, which bound the memory of temporaries and keep them small enough for the caches.
Operations of torch release Python's global lock, and the blocks of a table are independent, so that threads over
blocks are faster than threads inside the small products of one block.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.lines.scratch import Scratch
from gplens.paths.integrand import Integral
from gplens.processes.process import Process

BLOCK = 2**25
"""Bytes of the temporaries of a block. Recipe: benchmarks/blocks.py prints the time for several sizes."""
HELD = 6
"""Numbers held at once for each unit of the `width` of a process: distances, k, its slope, and products of them."""
SUMS = 10
"""Numbers that a path holds for each feature and output: x - x0, the sums of two rules, and finished results."""
NODES = 48
"""Numbers that the nodes of a path and their weights take: three for each of sixteen nodes."""
AHEAD = 2
"""The number of blocks per thread that are started ahead, so that few results are held at once."""
Block = TypeVar("Block")
Result = TypeVar("Result")


def rows_in_a_block(numbers: int) -> int:
    """The number of rows that fit into a block, at least one, if each takes so many float64 numbers."""
    return max(1, BLOCK // (8 * numbers))


def numbers_on_a_line(process: Process, nodes: int, channels: int) -> int:
    """Numbers that one line holds while its marginals are evaluated and `channels` of weights are pulled back."""
    return HELD * nodes * process.width + channels * (process.width + 2 * process.features)


def numbers_on_pairs(process: Process, nodes: int) -> int:
    """Numbers that one line holds while covariances between all pairs of its nodes are evaluated."""
    return nodes * numbers_on_a_line(process, nodes, 1) + 8 * nodes**2 * process.features


def numbers_of_a_path(features: int, outputs: int) -> int:
    """Numbers that the integral over one path holds, whatever the process."""
    return SUMS * features * outputs + NODES


def balanced(rows: int, block: int, threads: int) -> int:
    """The rows of a block, at most `block`, such that every thread has equally many blocks."""
    rounds = -(-rows // (block * threads))
    return -(-rows // (rounds * threads))


def in_order(function: Callable[[Block, Scratch], Result], blocks: Iterable[Block], threads: int) -> Iterator[Result]:
    """The results of blocks, in order. Each thread has its own scratch memory, and records no gradients."""
    scratches = [Scratch() for _ in range(threads)]
    if threads == 1:
        yield from (function(block, scratches[0]) for block in blocks)
        return

    def work(block: Block) -> Result:
        scratch = scratches.pop()  # one for each thread
        try:
            with torch.inference_mode(False), torch.no_grad():
                return function(block, scratch)
        finally:
            scratches.append(scratch)

    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[Result]] = deque()
        for block in blocks:
            pending.append(pool.submit(work, block))
            if len(pending) == AHEAD * threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


@final
@dataclass(frozen=True)
class Attribution:
    """Integrals over paths, and the targets at both ends."""

    integral: Integral
    start: Float[Tensor, "b o"]
    """T(x0)."""
    end: Float[Tensor, "b o"]
    """T(x)."""
    standard_error: Float[Tensor, "b o d"] | None = None
    """The standard error of the values, if they are averages over draws; else None."""
    background_std: Float[Tensor, "b o g"] | None = None
    """The standard deviation of the values over the rows of a background (4.12); None for a single baseline."""

    @property
    def gap(self) -> Float[Tensor, "b o"]:
        """sum_k IG_k - (T(x) - T(x0))  (4.4)."""
        return self.integral.values.sum(2) - (self.end - self.start)

    def largest(self) -> Float[Tensor, "b o"]:
        """The larger of |T(x) - T(x0)| and the largest |attribution|, to which tolerances are relative (4.8)."""
        return torch.maximum((self.end - self.start).abs(), self.integral.values.abs().amax(2))

    def replaced(self, rows: Bool[Tensor, " b"], again: "Attribution") -> "Attribution":
        """With some rows replaced by new results. Numbers of nodes are added."""

        def put(old: Tensor | None, new: Tensor | None) -> Tensor | None:
            return None if old is None or new is None else old.index_put((rows,), new)

        return Attribution(
            self.integral.replaced(rows, again.integral),
            self.start.index_put((rows,), again.start),
            self.end.index_put((rows,), again.end),
            put(self.standard_error, again.standard_error),
            put(self.background_std, again.background_std),
        )


def written_in_place(blocks: Iterator[Attribution], rows: int) -> Attribution:
    """Join blocks of rows. Each block is written to its place, so that the result never exists twice in memory."""
    whole, done = None, 0
    for block in blocks:
        whole, size = whole or empty_like(block, rows), block.end.shape[0]
        for target, tensor in zip(tensors_of(whole), tensors_of(block), strict=True):
            target[done : done + size] = tensor
        done += size
    assert whole is not None
    return whole


def empty_like(block: Attribution, rows: int) -> Attribution:
    """An empty result for `rows` rows."""

    def room(tensor: Tensor) -> Tensor:
        return tensor.new_empty(rows, *tensor.shape[1:])

    integral = block.integral
    parts = integral.error, integral.converged, integral.estimate
    error, converged, estimate = (None if part is None else room(part) for part in parts)
    empty = Integral(room(integral.values), error, room(integral.nodes), converged, estimate)
    std = None if block.background_std is None else room(block.background_std)
    return Attribution(empty, room(block.start), room(block.end), background_std=std)


def tensors_of(attribution: Attribution) -> list[Tensor]:
    """All tensors of the attribution, in a fixed order."""
    integral, ends = attribution.integral, (attribution.start, attribution.end, attribution.background_std)
    parts = integral.values, integral.error, integral.nodes, integral.converged, integral.estimate, *ends
    return [part for part in parts if part is not None]
