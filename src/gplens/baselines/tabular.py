"""Baselines made from a whole table: its mean, its rows as a background, or one row for each input."""

from abc import abstractmethod
from copy import copy
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder
from gplens.adapters.tables import GivenTable
from gplens.baselines.baseline import Baseline, same_columns


class Tabular(Baseline):
    """Base class of baselines that are made from a table."""

    def __init__(self, X: Any, what: str = "the baseline's X", *, vectors: bool = False) -> None:
        self.given = GivenTable(X, what, vectors=vectors)
        self.names = self.given.names

    def encoded(self, encoder: Encoder) -> "Tabular":
        twin = copy(self)
        table, _ = encoder.read(self.given.raw, self.given.what, vectors=True)
        twin.given, twin.names = GivenTable(table.values, self.given.what), None
        return twin

    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "#b s d"]:
        return self.of_table(same_columns(self.given.table.values, X), X)

    @abstractmethod
    def of_table(self, table: Float[Tensor, "n d"], X: Float[Tensor, "b d"]) -> Float[Tensor, "#b s d"]:
        """The baselines of the inputs X, given the table in the columns of X."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(X with {count_of(self.given.rows)})"


@final
class Mean(Tabular):
    """The mean of the rows of a table, feature by feature.

    Args:
        X: the table.
        what: the name of the table in messages.
        vectors: whether a single row is accepted as a table.

    Example:
        >>> e = gplens.explain(gp, X[3:4], baseline=gplens.baselines.Mean(X), likelihood=gplens.links.Identity())
        >>> e.baseline.tolist()
        [[0.5, 0.5]]
    """

    def of_table(self, table: Float[Tensor, "n d"], X: Float[Tensor, "b d"]) -> Float[Tensor, "1 1 d"]:
        return table.mean(0).expand(1, 1, -1)


@final
class Sample(Tabular):
    """Every row of a table: the explanation is the average over this background, exactly.

    Args:
        X: the background.
        weights: how much each row counts: numbers of zero or more, which are divided by their sum. Equal if None.

    Example:
        >>> e = gplens.explain(gp, X[3:4], baseline=gplens.baselines.Sample(X), likelihood=gplens.links.Identity())
        >>> e.background, e.background_std.shape
        (True, torch.Size([1, 2]))
    """

    background = True

    def __init__(self, X: Any, *, weights: Any = None) -> None:
        super().__init__(X)
        self.weights = None if weights is None else _shares(weights, self.given.rows)

    def of_table(self, table: Float[Tensor, "n d"], X: Float[Tensor, "b d"]) -> Float[Tensor, "1 n d"]:
        return table[None]

    def __repr__(self) -> str:
        return f"Sample(X with {count_of(self.given.rows)}{'' if self.weights is None else ', weighted'})"


@final
class Rows(Tabular):
    """A baseline for each input: row i of the table for row i of X.

    Args:
        X0: a table with as many rows as there are inputs.

    Example:
        >>> e = gplens.explain(gp, X[3:], baseline=gplens.baselines.Rows(X[:2]), likelihood=gplens.links.Identity())
        >>> e.baseline.tolist()
        [[0.0, 0.0], [1.0, 0.0]]
    """

    def __init__(self, X0: Any) -> None:
        super().__init__(X0, "the baseline's X0", vectors=True)

    def of_table(self, table: Float[Tensor, "n d"], X: Float[Tensor, "b d"]) -> Float[Tensor, "#b 1 d"]:
        if len(table) not in (1, len(X)):
            raise ValueError(
                f"expected Rows(X0) with a baseline for each of the {count_of(len(X))} of X, got {len(table)}. For the "
                "average over a background write baseline=gplens.baselines.Sample(X0)."
            )
        return table[:, None]

    def __repr__(self) -> str:
        return f"Rows(X0 with {count_of(self.given.rows)})"


def count_of(rows: int) -> str:
    """1 row, 2 rows."""
    return f"{rows} row" + ("" if rows == 1 else "s")


def _shares(weights: Any, rows: int) -> Float[Tensor, " s"]:
    """Weights divided by their sum."""
    numbers = weights.detach().cpu().numpy() if isinstance(weights, Tensor) else np.asarray(weights)
    if numbers.dtype.kind not in "biuf" or numbers.shape != (rows,):
        raise ValueError(f"expected {rows} weights, a number for each row of the background, got {weights!r}.")
    odd = ~np.isfinite(numbers) | (numbers < 0)
    if bool(odd.any()) or not bool(numbers.any()):
        row = int(odd.argmax())
        raise ValueError(
            f"expected finite weights of zero or more, some of them above zero, got {numbers[row]:g} in row {row}."
        )
    values = torch.tensor(numbers, dtype=torch.float64)
    return values / values.sum()
