"""Which blocks of columns the paths of a call switch: those of the model, and those that the user names (MATH 10)."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from gplens.lines.switches import MOST, Switches
from gplens.processes.category_blocks import category_blocks, joined_blocks
from gplens.processes.process import Process

BLOCK = 4096
"""Inputs whose paths are looked at together."""


def switches_of(process: Process, declared: Sequence[Sequence[int]]) -> Switches | None:
    """The blocks of columns that have no values in between; None if all columns are numbers."""
    blocks = joined_blocks([*category_blocks(process), *declared])
    return Switches(blocks) if blocks else None


def switches_between(
    switches: Switches | None,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    names: Sequence[str],
) -> Switches | None:
    """Those that some path changes; None if no path changes any, so that all paths are straight lines.

    Raises:
        ValueError: a path changes more than 12 of them.
    """
    if switches is None:
        return None
    some, most = [False] * len(switches.blocks), 0
    for i in range(0, len(x), BLOCK):
        rows = slice(i, i + BLOCK)
        starts = baselines if len(baselines) == 1 else baselines[rows]
        changed = switches.changed(starts, x[rows, None]).flatten(0, 1)
        some = [a or b for a, b in zip(some, changed.any(0).tolist(), strict=True)]
        most = max(most, int(changed.sum(1).max()))
    blocks = tuple(block for block, changes in zip(switches.blocks, some, strict=True) if changes)
    if most > MOST:
        columns = [names[block[0]] for block in blocks]
        raise ValueError(
            f"expected paths that change at most {MOST} categories, since each is evaluated on 2^c lines, got one that "
            f"changes {most} of {columns}; choose a baseline that shares categories with the input, such as "
            "gplens.baselines.Nearest, or explain the mean of a model whose kernel is a product over its categories."
        )
    return Switches(blocks) if blocks else None
