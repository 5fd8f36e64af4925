"""The choice of a likelihood for a target, and the reason for it."""

from typing import NamedTuple

import numpy as np
import pyarrow
from pyarrow import types

FEW = 10
"""The most different whole numbers that are taken for labels."""
REPEATS = 5
"""The smallest average number of rows for each label."""
AMOUNTS = 1000
"""Whole numbers none of which is smaller are amounts, such as prices, rather than counts."""
SCORES = {
    "gaussian": "R2, 1 is perfect, 0 is the mean of the target",
    "counts": "fraction of the Poisson deviance explained, 1 is perfect, 0 is the mean of the target",
    "classes": "accuracy",
}
"""Likelihoods by name, and the name of their estimator's score."""


class Choice(NamedTuple):
    """A likelihood and the reason for it, as the end of a sentence."""

    likelihood: str
    reason: str


def choose(target: pyarrow.ChunkedArray) -> Choice:
    """The likelihood for a target without missing entries.

    Texts, booleans and few whole numbers are classes, other whole numbers of zero or more are counts if some are small,
    the rest is Gaussian.
    """
    kind = target.type
    if types.is_boolean(kind):
        return Choice("classes", "it is true or false")
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        return Choice("classes", f"it is of type {kind}")
    numbers = target.cast(pyarrow.float64()).to_numpy()
    different, rows = len(np.unique(numbers)), len(numbers)
    if not bool(np.all(numbers == np.round(numbers))):
        return Choice("gaussian", "it has numbers that are not whole")
    if different <= 2 or (different <= FEW and different * REPEATS <= rows):
        return Choice("classes", f"it has {different} different whole numbers in {rows:,} rows")
    low, high = numbers.min(), numbers.max()
    if low >= AMOUNTS:
        return Choice("gaussian", f"it has amounts, whole numbers from {low:g} to {high:g}")
    if low >= 0:
        return Choice("counts", f"it has whole numbers from {low:g} to {high:g}")
    return Choice("gaussian", f"it has numbers below zero, from {low:g}")
