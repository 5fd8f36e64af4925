"""Names of rows, and texts for entries of a table that are not printed as numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Int
from torch import Tensor


@final
@dataclass(frozen=True, eq=False)
class EntryTexts:
    """The text of entry (i, k) is words[codes[i, k]]; a code of -1 means that the number is printed."""

    words: tuple[str, ...]
    """All different texts."""
    codes: Int[Tensor, "b d"]

    @staticmethod
    def of(columns: Sequence[Sequence[str | None]]) -> "EntryTexts":
        """From a list of texts for each column, with None for entries that are printed as numbers."""
        different = sorted({text for column in columns for text in column if text is not None})
        place: dict[str | None, int] = {None: -1, **{text: code for code, text in enumerate(different)}}
        codes = torch.tensor([[place[text] for text in column] for column in columns], dtype=torch.int64)
        return EntryTexts(tuple(different), codes.T.contiguous())

    def text(self, row: int, column: int) -> str | None:
        """The text of an entry; None if its number is printed."""
        code = int(self.codes[row, column])
        return None if code < 0 else self.words[code]

    def single_members(self, columns: Mapping[str, list[int]]) -> "EntryTexts":
        """The texts of groups with a single column; groups of several columns have none."""
        several = self.codes.new_full(self.codes.shape[:1], -1)
        parts = [self.codes[:, group[0]] if len(group) == 1 else several for group in columns.values()]
        return replace(self, codes=torch.stack(parts, dim=1))


@final
@dataclass(frozen=True, eq=False)
class Labels:
    """The names of the rows of an explanation, and the texts of its inputs and its baseline."""

    rows: tuple[int | str, ...] | None = None
    """The index of the pandas frame of the inputs; None if it just counts the rows, or there is no frame."""
    inputs: EntryTexts | None = None
    """The texts of the inputs; None if all inputs are printed as numbers."""
    baseline: EntryTexts | None = None

    def of_rows(self, index: Int[Tensor, " r"], *, background: bool) -> "Labels":
        """The labels of some of the inputs; a background stays as it is."""

        def some(texts: EntryTexts | None) -> EntryTexts | None:
            return None if texts is None else replace(texts, codes=texts.codes[index])

        rows = None if self.rows is None else tuple(self.rows[i] for i in index.tolist())
        return Labels(rows, some(self.inputs), self.baseline if background else some(self.baseline))

    def single_members(self, columns: Mapping[str, list[int]]) -> "Labels":
        """The labels of groups of features."""
        parts = (None if texts is None else texts.single_members(columns) for texts in (self.inputs, self.baseline))
        return Labels(self.rows, *parts)

    def input_text(self, row: int, column: int) -> str | None:
        """The text of an input; None if its number is printed."""
        return None if self.inputs is None else self.inputs.text(row, column)

    def baseline_text(self, row: int, column: int) -> str | None:
        """The text of an entry of the baseline; None if its number is printed."""
        return None if self.baseline is None else self.baseline.text(row, column)
