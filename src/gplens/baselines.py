"""What a prediction is explained relative to."""

from abc import ABC, abstractmethod
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder
from gplens.adapters.numbers import as_float
from gplens.adapters.tables import GivenTable, read_table

__all__ = ["Baseline", "Fixed", "Mean", "Sample", "Zeros"]

SHOWN = 4
"""The most numbers of a given baseline that its repr shows."""


class Baseline(ABC):
    """A baseline for each input, or a background of several that all inputs share."""

    names: tuple[str, ...] | None = None
    """Names of the columns; None if they came without names."""
    background: bool = False
    """Whether the explanation is an average over several baselines."""

    def encoded(self, encoder: Encoder) -> "Baseline":
        """The same baseline in the inputs of a model that encodes its tables; it takes their names."""
        return self

    @abstractmethod
    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "#b s d"]:
        """s baselines for each input, or one block if all inputs share them."""


@final
class Zeros(Baseline):
    """All features zero."""

    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "1 1 d"]:
        return X.new_zeros(1, 1, X.shape[1])

    def encoded(self, encoder: Encoder) -> "Inputs":
        return Inputs(encoder.constant(0.0), repr(self))

    def __repr__(self) -> str:
        return "Zeros()"


@final
class Mean(Baseline):
    """The mean of the rows of a table, feature by feature."""

    def __init__(self, X: Any) -> None:
        self.given = GivenTable(X, "the baseline's X")
        self.names = self.given.names

    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "1 1 d"]:
        return _same_columns(self.given.table.values, X).mean(0).expand(1, 1, -1)

    def encoded(self, encoder: Encoder) -> "Inputs":
        table, _ = encoder.read(self.given.raw, self.given.what)
        return Inputs(table.values.mean(0, keepdim=True), repr(self))

    def __repr__(self) -> str:
        return f"Mean(X with {self.given.rows} rows)"


@final
class Sample(Baseline):
    """Every row of a table: the explanation is the average over this background, exactly."""

    background = True

    def __init__(self, X: Any) -> None:
        self.given = GivenTable(X, "the baseline's X")
        self.names = self.given.names

    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "1 s d"]:
        return _same_columns(self.given.table.values, X)[None]

    def encoded(self, encoder: Encoder) -> "Inputs":
        table, _ = encoder.read(self.given.raw, self.given.what)
        return Inputs(table.values, repr(self), background=True)

    def __repr__(self) -> str:
        return f"Sample(X with {self.given.rows} rows)"


@final
class Fixed(Baseline):
    """Given numbers: a scalar, a vector, or a row for each input."""

    def __init__(self, values: Any) -> None:
        self.values, self.names = _numbers(values)

    def encoded(self, encoder: Encoder) -> "Inputs":
        if self.values.ndim == 0:
            return Inputs(encoder.constant(float(self.values)), repr(self))
        return _row_inputs(self.values.numpy(), encoder)

    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "#b 1 d"]:
        b, d = X.shape
        if self.values.ndim == 0:
            return self.values.expand(1, 1, d)
        if self.values.shape == (d,):
            return self.values.expand(1, 1, d)
        if self.values.shape in ((b, d), (1, d)):
            return self.values[:, None]
        raise ValueError(
            f"expected a baseline that is a scalar or has shape ({d},) or ({b}, {d}), because X has {b} rows and {d} "
            f"columns, got shape {tuple(self.values.shape)}. For a background of many rows use "
            "gplens.baselines.Sample(X)."
        )

    def __repr__(self) -> str:
        if self.values.numel() > SHOWN:
            return f"Fixed(shape {tuple(self.values.shape)})"
        return "Fixed(" + ", ".join(f"{value:.4g}" for value in self.values.flatten().tolist()) + ")"


@final
class Inputs(Baseline):
    """Rows in the inputs of a model that encodes its tables, such as `mean_input_` of an estimator."""

    def __init__(self, values: Float[Tensor, "s e"], name: str, *, background: bool = False) -> None:
        self.values, self.name, self.background = values, name, background

    def rows(self, X: Float[Tensor, "b e"]) -> Float[Tensor, "#b s e"]:
        if self.background or len(self.values) == 1:
            return _same_columns(self.values, X)[None]
        if len(self.values) != len(X):
            raise ValueError(
                f"expected a baseline of one row, or one for each of {len(X)} rows of X, got {len(self.values)} rows. "
                "For a background of many rows use gplens.baselines.Sample(X)."
            )
        return _same_columns(self.values, X)[:, None]

    def __repr__(self) -> str:
        return self.name


MISSING = (
    "expected a baseline, got None. Attributions are relative to it, and no choice is right for everybody. Write "
    "baseline=gplens.baselines.Mean(X_train) for the average input, gplens.baselines.Zeros() for an empty image, "
    "gplens.baselines.Sample(X_train) for the average over a background, or pass a vector, or one row per input."
)


def as_baseline(baseline: Any, encoder: Encoder | None = None) -> Baseline:
    """The baseline that a user's argument means, for a model that encodes its tables in its own inputs."""
    if baseline is None:
        raise ValueError(MISSING)
    if encoder is None:
        return baseline if isinstance(baseline, Baseline) else Fixed(baseline)
    if isinstance(baseline, Baseline):
        return baseline.encoded(encoder)
    return Fixed(baseline).encoded(encoder) if as_float(baseline) is not None else _row_inputs(baseline, encoder)


def _row_inputs(rows: Any, encoder: Encoder) -> Inputs:
    """A row of the table, or one for each input."""
    table, original = encoder.read(rows, "the baseline", vectors=True)
    count = f"{len(table.values)} rows" if len(table.values) > 1 else "a row"
    return Inputs(table.values, f"{count} of {len(original.numbers[0])} columns")


def _numbers(values: Any) -> tuple[Tensor, tuple[str, ...] | None]:
    if isinstance(values, np.generic | np.ndarray | Tensor) and values.ndim == 0:
        values = values.item()
    if isinstance(values, int | float):
        values = torch.tensor(float(values), dtype=torch.float64)
        if not values.isfinite():
            raise ValueError(f"expected a finite baseline, got {float(values)}.")
        return values, None
    table = read_table(values, "the baseline", vectors=True)
    return table.values[0] if table.vector else table.values, table.names or _labels(values)


def _labels(values: Any) -> tuple[str, ...] | None:
    """The labels of the entries of a pandas Series, if they are texts."""
    labels = getattr(values, "index", None)
    if labels is None or callable(labels) or not all(isinstance(label, str) for label in labels):
        return None
    return tuple(labels)


def _same_columns(background: Float[Tensor, "s k"], X: Float[Tensor, "b d"]) -> Float[Tensor, "s d"]:
    if background.shape[1] != X.shape[1]:
        raise ValueError(
            f"expected a baseline with the {X.shape[1]} columns of X, in the same order, got {background.shape[1]}."
        )
    return background
