"""Blocks of rows on threads.

Results do not depend on the blocks, which bound the memory of temporaries and keep them small enough for the caches.
Operations of torch release Python's global lock, and the blocks of a table are independent, so that threads over
blocks are faster than threads inside the small products of one block.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

from gplens.lines.line import Scratch

AHEAD = 2
"""The number of blocks per thread that are started ahead, so that few results are held at once."""
Block = TypeVar("Block")
Result = TypeVar("Result")


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
