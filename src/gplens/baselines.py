"""Relative to what a prediction is explained."""

from abc import ABC, abstractmethod
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.tables import read_table

SHOWN = 4
"""Numbers of a given baseline up to which its repr shows them."""


class Baseline(ABC):
    """A starting point of the path for each input, or a background of several."""

    names: tuple[str, ...] | None = None
    """Of the columns, where they came with names."""
    background: bool = False
    """Whether all inputs share several starting points."""

    @abstractmethod
    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "#b s d"]:
        """s starting points for each input; one block where all inputs share them."""


@final
class Zeros(Baseline):
    """All features zero."""

    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "1 1 d"]:
        """Zeros."""
        return X.new_zeros(1, 1, X.shape[1])

    def __repr__(self) -> str:
        return "Zeros()"


@final
class Mean(Baseline):
    """The mean of the rows of a table, feature by feature."""

    def __init__(self, X: Any) -> None:
        self.table = read_table(X, "the baseline's X")
        self.names = self.table.names

    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "1 1 d"]:
        """The mean row."""
        return _same_columns(self.table.values, X).mean(0).expand(1, 1, -1)

    def __repr__(self) -> str:
        return f"Mean(X with {len(self.table.values)} rows)"


@final
class Sample(Baseline):
    """Every row of a table: the explanation is the average over this background, exactly."""

    background = True

    def __init__(self, X: Any) -> None:
        self.table = read_table(X, "the baseline's X")
        self.names = self.table.names

    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "1 s d"]:
        """All rows."""
        return _same_columns(self.table.values, X)[None]

    def __repr__(self) -> str:
        return f"Sample(X with {len(self.table.values)} rows)"


@final
class Fixed(Baseline):
    """Given numbers: a scalar, a vector, or a row for each input."""

    def __init__(self, values: Any) -> None:
        self.values, self.names = _numbers(values)

    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "#b 1 d"]:
        """The given numbers, in the shape of a starting point."""
        b, d = X.shape
        if self.values.ndim == 0:
            return self.values.expand(1, 1, d)
        if self.values.shape == (d,):
            return self.values.expand(1, 1, d)
        if self.values.shape in ((b, d), (1, d)):
            return self.values[:, None]
        raise ValueError(
            f"The baseline has shape {tuple(self.values.shape)}; X has {b} rows and {d} columns, so that a scalar, "
            f"({d},) or ({b}, {d}) was wanted. For a background of many rows use gplens.baselines.Sample(X)."
        )

    def __repr__(self) -> str:
        if self.values.numel() > SHOWN:
            return f"Fixed(shape {tuple(self.values.shape)})"
        return "Fixed(" + ", ".join(f"{value:.4g}" for value in self.values.flatten().tolist()) + ")"


MISSING = (
    "explain() needs a baseline: attributions are relative to it, and no choice is right for everybody. Write "
    "baseline=gplens.baselines.Mean(X_train) for the average input, gplens.baselines.Zeros() for an empty image, "
    "gplens.baselines.Sample(X_train) for the average over a background, or give a vector, or one row per input."
)


def as_baseline(baseline: Any) -> Baseline:
    """The baseline that a user's argument means."""
    if baseline is None:
        raise ValueError(MISSING)
    return baseline if isinstance(baseline, Baseline) else Fixed(baseline)


def _numbers(values: Any) -> tuple[Tensor, tuple[str, ...] | None]:
    if isinstance(values, np.generic | np.ndarray | Tensor) and values.ndim == 0:
        values = values.item()
    if isinstance(values, int | float):
        values = torch.tensor(float(values), dtype=torch.float64)
        if not values.isfinite():
            raise ValueError(f"The baseline is {float(values)}; a finite number was wanted.")
        return values, None
    table = read_table(values, "the baseline", vectors=True)
    return table.values[0] if table.vector else table.values, table.names or _labels(values)


def _labels(values: Any) -> tuple[str, ...] | None:
    """The names that a pandas Series has for its entries, if they are names."""
    labels = getattr(values, "index", None)
    if labels is None or callable(labels) or not all(isinstance(label, str) for label in labels):
        return None
    return tuple(labels)


def _same_columns(background: Float[Tensor, "s k"], X: Float[Tensor, "b d"]) -> Float[Tensor, "s d"]:
    if background.shape[1] != X.shape[1]:
        got = f"{background.shape[1]} columns, and X has {X.shape[1]}"
        raise ValueError(f"The baseline's table has {got}; give it the same columns in the same order.")
    return background
