"""Rows that count several times: `sample_weight`, and rows of a table that are repeated."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

Weights = Float[Tensor, " n"] | None
"""How often each row counts; None if each counts once."""


def check_weights(sample_weight: Any, rows: int) -> NDArray[np.float64] | None:
    """The weights that a user gives, after a check that none is negative and some are above zero."""
    if sample_weight is None:
        return None
    weights = np.array(sample_weight, dtype=np.float64)
    if weights.shape != (rows,):
        raise ValueError(f"expected sample_weight of shape ({rows},), one for each row of X, got {weights.shape}.")
    odd = ~np.isfinite(weights) | (weights < 0)
    if bool(odd.any()) or not bool(weights.any()):
        row = int(odd.argmax())
        raise ValueError(
            f"expected weights of zero or more, some of them above zero, got {weights[row]:g} in row {row}; leave "
            "rows out with a weight of zero."
        )
    return weights


def counted(
    X: Float[Tensor, "n d"], y: NDArray[Any], weights: NDArray[np.float64] | None, *, ordered: bool
) -> tuple[Float[Tensor, "m d"], NDArray[Any], Float[Tensor, " m"] | None]:
    """Different rows with the sum of the weights that they have; the table as it is if each row counts once.

    A row of weight two is the same as two equal rows, which become one row here. The order of the result does not
    depend on the order of the rows; with `ordered`, rows are in the order in which they first appear.
    """
    given = np.ones(len(y)) if weights is None else weights
    once = bool((given == 1).all())
    if once and _all_different(X.numpy()):
        return X, y, None
    codes, kept = np.unique(y, return_inverse=True)[1].astype(np.float64), np.flatnonzero(given > 0)
    rows = np.column_stack([X.numpy(), codes])[kept]
    _, first, place = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if once and len(first) == len(y):
        return X, y, None
    total = np.bincount(place.ravel(), given[kept])
    order = np.argsort(first) if ordered else np.arange(len(first))
    chosen = kept[first[order]]
    return X[torch.from_numpy(chosen)], y[chosen], torch.from_numpy(total[order])


def _all_different(X: NDArray[np.float64]) -> bool:
    """Whether a sum of the columns with random factors is different in all rows; then the rows are different.

    Column by column, because equal rows have to have equal sums, to the last digit.
    """
    total = np.zeros(len(X))
    for factor, column in zip(np.random.default_rng(0).normal(size=X.shape[1]), X.T, strict=True):
        total += factor * column
    return len(np.unique(total)) == len(X)


def mean(values: Float[Tensor, "n *d"], weights: Weights) -> Float[Tensor, "*d"]:
    """The average over the rows."""
    if weights is None:
        return values.mean(0)
    return torch.tensordot(weights, values, dims=1) / weights.sum()


def deviation(values: Float[Tensor, "n *d"], weights: Weights) -> Float[Tensor, "*d"]:
    """The root of the mean squared distance from the average."""
    if weights is None:
        return values.std(0, correction=0)
    return mean((values - mean(values, weights)).square(), weights).sqrt()
