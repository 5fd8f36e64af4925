"""Baselines that are given as numbers, and any argument of a user's as a Baseline, or the line to type instead."""

from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder
from gplens.adapters.numbers import as_float
from gplens.adapters.tables import read_table
from gplens.baselines.baseline import Baseline, Inputs
from gplens.baselines.tabular import count_of

SHOWN = 4
"""The most numbers that the repr of a baseline shows."""
MISSING = (
    "expected a baseline, got None. Attributions are relative to it, and no choice is right for everybody. Write "
    "baseline=gplens.baselines.Sample(X_train) for the average over a background, gplens.baselines.Mean(X_train) for "
    "the average input, gplens.baselines.Medoid(X_train) for a typical row, gplens.baselines.Zeros() for an empty "
    "image, gplens.baselines.Rows(X0) for one row per input, or pass a vector."
)
EXAMPLES = {
    "zeros": "Zeros()",
    "zero": "Zeros()",
    "mean": "Mean(X_train)",
    "average": "Mean(X_train)",
    "medoid": "Medoid(X_train)",
    "median": "Medoid(X_train)",
    "sample": "Sample(X_train)",
    "background": "Sample(X_train)",
    "rows": "Rows(X0)",
    "nearest": "Nearest(X_train, y_train, where=...)",
    "incumbent": "Incumbent(X_train, y_train)",
    "best": "Incumbent(X_train, y_train)",
    "fixed": "Fixed(x0)",
}
"""What to type in place of words and class names that people pass as a baseline."""


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


def as_baseline(baseline: Any, encoder: Encoder | None = None) -> Baseline:
    """The Baseline for a user's argument, in the inputs of the model if it has an encoder.

    Raises:
        ValueError: for None, a text, a class, and a table of several rows, with the line to type instead.

    Args:
        baseline: a number, a row, or a Baseline.
        encoder: the encoder of the model, if it has one.

    Returns:
        A Baseline.

    Example:
        >>> gplens.baselines.as_baseline(0.0)
        Fixed(0)
    """
    if baseline is None:
        raise ValueError(MISSING)
    if isinstance(baseline, str) or (isinstance(baseline, type) and issubclass(baseline, Baseline)):
        raise ValueError(_in_place_of(baseline))
    if encoder is None:
        return baseline if isinstance(baseline, Baseline) else Fixed(baseline)
    if isinstance(baseline, Baseline):
        return baseline.encoded(encoder)
    return Fixed(baseline).encoded(encoder) if as_float(baseline) is not None else row_inputs(baseline, encoder)


def _in_place_of(baseline: str | type[Baseline]) -> str:
    """The error for a word or a class, with the line to type instead."""
    name, kind = (baseline, "text") if isinstance(baseline, str) else (baseline.__name__, "class")
    example = EXAMPLES.get(name.lower(), "Mean(X_train), gplens.baselines.Sample(X_train) or gplens.baselines.Zeros()")
    return f"expected a baseline object or a row, got the {kind} {name!r}. Write baseline=gplens.baselines.{example}."


def check_keyword(positional: tuple[Any, ...]) -> None:
    """Refuse positional arguments of `explain` after X, with the line to type instead.

    Raises:
        TypeError: if there are any.
    """
    if positional:
        line = f"baseline={positional[0]!r}" if isinstance(positional[0], Baseline) else "baseline=..."
        raise TypeError(
            f"expected the model and X, and all else by name, got {len(positional)} more without a name. Write "
            f"explain(..., X, {line}); gplens.baselines.Sample(X0) is a background of rows."
        )
