"""Blocks of rows on as many threads as torch uses in this process.

The operations of torch release Python's lock, and the blocks of a table do not depend on each other, so that threads
over blocks gain more than threads inside of the small products of one block.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

from gplens.lines.scratch import Scratch

Block = TypeVar("Block")
Result = TypeVar("Result")
AHEAD = 2
"""Blocks for each thread that are begun before the first of them is taken, so that few results are held."""


def balanced(rows: int, block: int, threads: int) -> int:
    """Rows of a block, at most `block`, such that every thread has equally many blocks."""
    rounds = -(-rows // (block * threads))
    return -(-rows // (rounds * threads))


def in_order(function: Callable[[Block, Scratch], Result], blocks: Iterable[Block], threads: int) -> Iterator[Result]:
    """The results of blocks in their order. Each thread has memory of its own, and records no gradients."""
    scratches = [Scratch() for _ in range(threads)]
    if threads == 1:
        yield from (function(block, scratches[0]) for block in blocks)
        return

    def work(block: Block) -> Result:
        scratch = scratches.pop()  # there are as many as threads
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
