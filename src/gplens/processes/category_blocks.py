"""Blocks of columns that have no values in between: categories, tasks and one-hot blocks (MATH 10.1)."""

from collections.abc import Iterable

from jaxtyping import Bool
from torch import Tensor

from gplens.processes.process import Blocks, Process


def category_blocks(process: Process) -> Blocks:
    """Blocks of category and task columns that change together; empty if all columns are numbers."""
    return joined_blocks(process.categories)


def joined_blocks(blocks: Iterable[Iterable[int]]) -> Blocks:
    """Merge blocks that share a column."""
    joined: list[set[int]] = []
    for block in map(set, blocks):
        touching = [other for other in joined if other & block]
        joined = [other for other in joined if not other & block]
        joined.append(block.union(*touching))
    return tuple(sorted(tuple(sorted(block)) for block in joined if block))


def blocks_behind(blocks: Blocks, depends: Bool[Tensor, "d e"]) -> Blocks:
    """The columns on which the columns of each block depend, through a map of d columns to e."""
    columns = (depends[:, list(block)].any(1).nonzero()[:, 0].tolist() for block in blocks)
    return tuple(tuple(block) for block in columns if block)
