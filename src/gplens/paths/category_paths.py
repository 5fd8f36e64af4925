"""The blocks of columns that the paths of a call switch, from the model and from the user (MATH 10)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from jaxtyping import Bool, Float
from torch import Tensor

from gplens.lines.switches import MOST, Switches
from gplens.paths.integrand import Question
from gplens.processes.category_blocks import category_blocks, joined_blocks
from gplens.processes.one_hot_process import OneHotProcess

BLOCK = 4096
"""The number of inputs whose paths are checked together."""


def switches_of(blocks: Iterable[Sequence[int]]) -> Switches:
    """Blocks of columns that have no values in between. Blocks that share a column are one."""
    return Switches(joined_blocks(blocks))


def switching(
    question: Question,
    switches: Switches,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    names: Sequence[str],
) -> Question:
    """The question with the blocks that some path changes; unchanged if no path changes any.

    Raises:
        ValueError: if a path changes more than 12 blocks and the kernel is not a sum of products over categories.
    """
    blocks, most = _changed(switches, x, baselines)
    if not blocks:
        return question
    shares = _shares(question, blocks, x, baselines)
    if shares is None and most > MOST:
        raise ValueError(
            f"expected paths that change at most {MOST} categories, since each is evaluated on 2^c lines, got one that "
            f"changes {most} of {[names[block[0]] for block in blocks]}; choose a baseline that shares categories with "
            "the input, such as gplens.baselines.Nearest(X, y, where=...), or explain the mean of a model whose kernel "
            "is a product over its categories, which any number of them may change."
        )
    return replace(question, switches=Switches(blocks), shares=shares)


def _changed(
    switches: Switches, x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]
) -> tuple[tuple[tuple[int, ...], ...], int]:
    """The blocks that some path changes, and the largest number of blocks that one path changes."""
    some, most = [False] * len(switches.blocks), 0
    for i in range(0, len(x), BLOCK):
        rows = slice(i, i + BLOCK)
        starts = baselines if len(baselines) == 1 else baselines[rows]
        changed: Bool[Tensor, "p j"] = switches.changed(starts, x[rows, None]).flatten(0, 1)
        some = [a or b for a, b in zip(some, changed.any(0).tolist(), strict=True)]
        most = max(most, int(changed.sum(1).max()))
    return tuple(block for block, changes in zip(switches.blocks, some, strict=True) if changes), most


def _shares(
    question: Question, blocks: tuple[tuple[int, ...], ...], x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]
) -> OneHotProcess | None:
    """The process of numbers and shares of categories, if the target is affine in f and the kernel factorises."""
    draws = question.expectation.draws_of(question.outputs)
    expectation = question.expectation if draws is None else draws.expectation
    links = [expectation.link_of(output) for output in (question.outputs if draws is None else draws.outputs)]
    if any(link is None or link.needs_variance for link in links):
        return None
    if not set(blocks) <= set(category_blocks(question.process)):
        return None  # blocks declared by the user, which no kernel is defined on
    return OneHotProcess.of(question.process, x, baselines.flatten(0, 1))
