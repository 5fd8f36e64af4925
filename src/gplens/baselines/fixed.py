"""Baselines that are given as numbers."""

from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder
from gplens.adapters.tables import read_table
from gplens.baselines.baseline import Baseline, Inputs
from gplens.baselines.tabular import count_of

SHOWN = 4
"""The most numbers that the repr of a baseline shows."""


@final
class Zeros(Baseline):
    """All features zero.

    Example:
        >>> e = gplens.explain(gp, X[3:4], baseline=gplens.baselines.Zeros(), likelihood=gplens.links.Identity())
        >>> e.baseline.tolist()
        [[0.0, 0.0]]
    """

    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "1 1 d"]:
        return X.new_zeros(1, 1, X.shape[1])

    def encoded(self, encoder: Encoder) -> Inputs:
        return Inputs(encoder.constant(0.0), repr(self))

    def __repr__(self) -> str:
        return "Zeros()"


@final
class Fixed(Baseline):
    """Given numbers: a scalar, or a row.

    Args:
        values: a number for all features, or a row of them.

    Example:
        >>> start = gplens.baselines.Fixed([0.5, 0.0])
        >>> e = gplens.explain(gp, X[3:4], baseline=start, likelihood=gplens.links.Identity())
        >>> e.baseline.tolist()
        [[0.5, 0.0]]
    """

    def __init__(self, values: Any) -> None:
        self.values, self.names = _numbers(values)

    def encoded(self, encoder: Encoder) -> Inputs:
        if self.values.ndim == 0:
            return Inputs(encoder.constant(float(self.values)), repr(self))
        return row_inputs(self.values.numpy(), encoder)

    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "1 1 d"]:
        d = X.shape[1]
        if self.values.shape not in ((), (d,)):
            raise ValueError(
                f"expected a baseline that is a scalar or has shape ({d},), because X has {d} columns, got shape "
                f"{tuple(self.values.shape)}."
            )
        return self.values.expand(1, 1, d)

    def __repr__(self) -> str:
        if self.values.numel() > SHOWN:
            return f"Fixed(shape {tuple(self.values.shape)})"
        return "Fixed(" + ", ".join(f"{value:.4g}" for value in self.values.flatten().tolist()) + ")"


def row_inputs(row: Any, encoder: Encoder) -> Inputs:
    """A row of the table that an encoder reads."""
    table, original = encoder.read(row, "the baseline", vectors=True)
    check_single(len(table.values))
    return Inputs(table.values, f"a row of {len(original.numbers[0])} columns")


def check_single(rows: int) -> None:
    """Refuse a table of several rows, which could be a background or one baseline for each input."""
    if rows > 1:
        raise ValueError(
            f"expected a baseline of one row, got a table of {count_of(rows)}, which may mean two things. For the "
            "average over a background write baseline=gplens.baselines.Sample(X0); for a baseline of each input, row i "
            "of X0 for row i of X, write baseline=gplens.baselines.Rows(X0)."
        )


def _numbers(values: Any) -> tuple[Tensor, tuple[str, ...] | None]:
    """A scalar or one row, and the names of its columns."""
    if isinstance(values, np.generic | np.ndarray | Tensor) and values.ndim == 0:
        values = values.item()
    if isinstance(values, int | float):
        values = torch.tensor(float(values), dtype=torch.float64)
        if not values.isfinite():
            raise ValueError(f"expected a finite baseline, got {float(values)}.")
        return values, None
    table = read_table(values, "the baseline", vectors=True)
    check_single(len(table.values))
    return table.values[0], table.names or _labels(values)


def _labels(values: Any) -> tuple[str, ...] | None:
    """The labels of the entries of a pandas Series, if they are texts."""
    labels = getattr(values, "index", None)
    if labels is None or callable(labels) or not all(isinstance(label, str) for label in labels):
        return None
    return tuple(labels)
