"""From an explanation of a model's inputs to one of the columns of the table that the inputs encode."""

from collections.abc import Mapping
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder, OriginalRows
from gplens.adapters.labels import EntryTexts, Labels
from gplens.explanation.result import Explanation

Blocks = tuple[tuple[int, ...], ...]
BOOLEANS = (str(False), str(True))


def sets_of(blocks: Blocks, groups: Mapping[str, list[int]] | None) -> list[list[int]]:
    """The inputs of the model behind each column, or behind each group of columns."""
    columns = [[k] for k in range(len(blocks))] if groups is None else groups.values()
    return [[i for column in members for i in blocks[column]] for members in columns]


def in_columns(
    explanation: Explanation,
    encoder: Encoder,
    names: tuple[str, ...],
    original: OriginalRows,
    baselines: Float[Tensor, "s e"],
) -> Explanation:
    """Add up the attributions of the inputs of each column, and show inputs and baseline as in the table.

    Args:
        explanation: the explanation of the inputs of the model.
        encoder: the encoder from columns of the table to inputs of the model.
        names: the names of the columns.
        original: the explained rows of the table.
        baselines: baselines in the inputs of the model; one for all rows, one for each row, or a background.
    """
    e, shape = explanation, original.numbers.shape
    blocks = {name: list(block) for name, block in zip(names, encoder.blocks, strict=True)}
    start = with_booleans(encoder.decode(baselines), original)
    numbers, codes = start.numbers, start.texts.codes
    if not e.background:
        numbers, codes = numbers.expand(shape), codes.expand(shape)
    return replace(
        e.summed(blocks) if encoder.sums else e,
        feature_names=names,
        inputs=original.numbers,
        baseline=numbers,
        labels=Labels(e.labels.rows, original.texts, replace(start.texts, codes=codes)),
        provenance=replace(e.provenance, path=encoder.path),
    )


def with_booleans(start: OriginalRows, shown: OriginalRows) -> OriginalRows:
    """The rows `start`, with False and True for 0 and 1 in columns in which all entries of `shown` are booleans.

    An encoder that takes booleans as numbers does not know them from numbers when it decodes a baseline.
    """
    truth = torch.tensor([*(word in BOOLEANS for word in shown.texts.words), False])  # the last one is for the code -1
    given = truth[shown.texts.codes].all(0) & ((start.numbers == 0) | (start.numbers == 1))
    if not bool(given.any()):
        return start
    words = tuple(dict.fromkeys([*start.texts.words, *BOOLEANS]))
    no, yes = (words.index(word) for word in BOOLEANS)
    codes = torch.where(given, torch.where(start.numbers == 1, yes, no), start.texts.codes)
    return OriginalRows(start.numbers, EntryTexts(words, codes))
