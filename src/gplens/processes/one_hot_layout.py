"""Inputs with one-hot blocks in place of categories, so that a path between two categories is straight."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

SAME = 1e-9
"""Codes that differ by less, relative to 1 + |code|, are the same category: scaling a code may round it."""


@final
@dataclass(frozen=True, eq=False)
class OneHotLayout:
    """The columns of x, with a block of shares in place of each category; p_l is the share of level l."""

    features: int
    """The number d of columns of x."""
    levels: dict[int, Float[Tensor, " l"]]
    """The codes of each column of categories."""

    @property
    def numbers(self) -> list[int]:
        """The columns of x that are numbers; they come first."""
        return [k for k in range(self.features) if k not in self.levels]

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The columns of the layout behind each column of x."""
        numbers, blocks, start = self.numbers, {}, len(self.numbers)
        for column, codes in self.levels.items():
            blocks[column] = tuple(range(start, start + len(codes)))
            start += len(codes)
        return tuple(blocks[k] if k in blocks else (numbers.index(k),) for k in range(self.features))

    @property
    def width(self) -> int:
        """The number of columns of the layout."""
        return len(self.numbers) + sum(map(len, self.levels.values()))

    def encode(self, X: Float[Tensor, "*k d"]) -> Float[Tensor, "*k e"]:
        """Numbers as they are, one-hot blocks for categories.

        Raises:
            ValueError: if a code is not a level.
        """
        parts = [X[..., self.numbers]]
        for column, codes in self.levels.items():
            same = (X[..., column, None] - codes).abs() <= SAME * (1 + codes.abs())
            if not bool((same.sum(-1) == 1).all()):
                raise ValueError(f"expected codes among {codes.tolist()} in column {column}, got another one.")
            parts.append(same.to(X.dtype))
        return torch.cat(parts, dim=-1)

    def summed(self, values: Float[Tensor, "*k e"]) -> Float[Tensor, "*k d"]:
        """Sums over the layout columns of each column of x."""
        return torch.stack([values[..., list(block)].sum(-1) for block in self.blocks], dim=-1)

    def decode_numbers(self, E: Float[Tensor, "k e"]) -> Float[Tensor, "k d"]:
        """x with the numbers of E and the first level of every category."""
        X = E.new_zeros(len(E), self.features)
        X[:, self.numbers] = E[:, : len(self.numbers)]
        for column, codes in self.levels.items():
            X[:, column] = codes[0]
        return X


def levels_in(*columns: Float[Tensor, " _"]) -> Float[Tensor, " l"]:
    """The different codes of a column; codes that differ by rounding count once."""
    codes = torch.cat(columns).unique()
    new = codes.diff(prepend=codes[:1] - 1) > SAME * (1 + codes.abs())
    new[:1] = True
    return codes[new]
