"""Checks of the tables and targets that users pass to `fit` and `predict`, as scikit-learn expects them."""

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, validate_data
from torch import Tensor

from gplens.adapters.encoders import RawTable, read_raw
from gplens.adapters.entries import Entries, is_missing
from gplens.adapters.tables import frame_of
from gplens.columns.category import Drop
from gplens.columns.column_plan import ColumnPlan
from gplens.columns.doubts import warn_of_columns
from gplens.columns.planning import plan_columns
from gplens.estimators.weights import Weights, check_weights, counted

MOST_CLASSES = 100
"""More different whole numbers than this are taken for counts or amounts."""
FEW_CLASSES, ROWS_PER_CLASS = 20, 4
"""So are more than 20 of them with fewer than 4 rows each."""


@final
@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The data that a model is fitted to."""

    plan: ColumnPlan
    """The encoding of each column."""
    X: Float[Tensor, "n e"]
    """Inputs of the model."""
    y: NDArray[Any]
    weights: Weights
    """How often each row counts; None if each counts once."""


def read_training(estimator: Any, X: Any, y: Any, sample_weight: Any, *, numeric: bool) -> TrainingTable:
    """The plan for the columns of a training table, the inputs that it gives, the targets and the weights.

    Raises:
        ValueError, TypeError: missing or infinite targets, columns that cannot be inputs; with row and column.
    """
    check_target(y, numeric=numeric)
    labels = y if numeric else plain_labels(y)
    target: Any = validate_data(estimator, "no_validation", labels, y_numeric=numeric)
    raw = read_rows(estimator, X, reset=True)
    check_consistent_length(np.empty(raw.rows), target)
    weights = check_weights(sample_weight, raw.rows)
    plan = plan_columns(raw, estimator.columns)
    warn_of_columns(plan, raw)
    inputs, ordered = torch.from_numpy(plan.encode(raw)), estimator.inducing == "first"
    return TrainingTable(plan, *counted(inputs, np.asarray(target), weights, ordered=ordered))


def read_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> RawTable:
    """A table with the number and names of columns that the estimator knows, or, with `reset`, learns."""
    check_unmasked(X, "X")
    if frame_of(X, "X") is not None or holds_texts(X):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        raw = read_raw(X, "X", names=_names(estimator), left_out=_left_out(estimator, reset=reset))
        if raw.rows == 0:
            raise ValueError(f"expected X with at least one row, got {raw.rows} rows and {len(raw.columns)} columns.")
        return raw
    array: Any = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, reset=reset)
    names = _names(estimator) or tuple(f"x{k}" for k in range(array.shape[1]))
    return RawTable(tuple(Entries(name, "number", array[:, k]) for k, name in enumerate(names)), None, len(array))


def _names(estimator: Any) -> tuple[str, ...] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def _left_out(estimator: Any, *, reset: bool) -> Collection[str]:
    """The names of columns that are not in the model; before there is a plan, those with the kind `Drop()`."""
    if not reset:
        return estimator.columns_.left_out
    chosen = estimator.columns if isinstance(estimator.columns, Mapping) else {}
    named = _names(estimator) is not None
    return {str(key) if named else f"x{key}" for key, kind in chosen.items() if isinstance(kind, Drop)}


def check_unmasked(X: Any, what: str) -> None:
    """Refuse arrays of numpy some of whose entries are masked, which would count as if they were not."""
    if np.ma.is_masked(X):
        raise ValueError(
            f"expected {what} without masked entries, got {int(np.ma.count_masked(X))} that are masked; fill them: "
            f"missing numbers of X are NaN, {what}.filled(numpy.nan)."
        )


def holds_texts(X: Any) -> bool:
    """Whether an array or nested lists hold texts, dates, durations or missing values beside numbers."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in "UTMm" and kind:
        return True
    if kind == "O":
        return any(not isinstance(entry, int | float | np.number | dict) for entry in np.asarray(X).flat)
    rows = X if isinstance(X, list) else []
    return any(isinstance(entry, str) for row in rows if isinstance(row, list | tuple) for entry in row)


def check_target(y: Any, *, numeric: bool) -> None:
    """Refuse targets that are missing or infinite, and texts where numbers are needed; name the first row."""
    if y is None or isinstance(y, str):
        return
    check_unmasked(y, "y")
    values = np.asarray(y)
    if numeric and values.dtype.kind in "UO":
        row = next((row for row, value in enumerate(values.ravel()) if isinstance(value, str)), None)
        if row is not None:
            raise ValueError(
                f"expected numbers as targets y, got the text {str(values.ravel()[row])!r} in row {row}; convert them "
                "to numbers, or fit gplens.estimators.GPClassifier to labels."
            )
    if values.dtype.kind == "f":
        bad = ~np.isfinite(values)
    elif values.dtype.kind == "O":
        bad = np.array([is_missing(value) for value in values.ravel()], dtype=bool).reshape(values.shape)
    else:
        return
    if bool(bad.any()):
        row = int(np.argwhere(bad)[0][0])
        raise ValueError(
            f"expected targets y that are neither missing nor infinite, got {int(bad.sum())} that are, the first "
            f"{values[row]} in row {row}; drop these rows from X and y."
        )


def plain_labels(y: Any) -> Any:
    """Labels of nullable and Arrow types as booleans and whole numbers, which scikit-learn would make floats."""
    dtype = getattr(y, "dtype", None)
    kind = "" if isinstance(dtype, np.dtype) else getattr(dtype, "kind", "")
    return np.asarray(y, dtype={"b": np.bool_, "i": np.int64, "u": np.int64}[kind]) if kind in ("b", "i", "u") else y


def check_labels(y: NDArray[Any]) -> None:
    """Refuse whole numbers with so many values that they are counts or amounts rather than classes."""
    if y.dtype.kind not in "iuf" or not bool(np.all(y == np.round(y))):
        return
    count = len(np.unique(y))
    if count > MOST_CLASSES or (count > FEW_CLASSES and count * ROWS_PER_CLASS > len(y)):
        raise ValueError(
            f"expected classes, got {count} different whole numbers in {len(y)} rows, from {y.min():g} to {y.max():g}; "
            "use GPCountRegressor for counts and GPRegressor for other numbers, or, if they are classes, pass them as "
            "texts: y.astype(str)."
        )


def check_counts(y: NDArray[np.float64]) -> None:
    """Refuse negative numbers, and warn of numbers that are not whole."""
    if bool((y < 0).any()):
        row = int((y < 0).argmax())
        raise ValueError(f"expected counts of zero or more, got y with {y[row]:g} in row {row}, smallest {y.min()}.")
    broken = y != np.round(y)
    if bool(broken.any()):
        row = int(broken.argmax())
        warnings.warn(
            f"expected whole counts, got {int(broken.sum())} of {len(y)} that are not, the first {y[row]:g} in row "
            f"{row}: averages of counts vary less than the Poisson likelihood says. Use GPRegressor for amounts.",
            stacklevel=3,
        )
