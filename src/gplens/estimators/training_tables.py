"""What users pass to `fit` and `predict`: tables and targets, checked at once, as scikit-learn expects it."""

from typing import Any

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
from gplens.columns.plan import ColumnPlan
from gplens.columns.planning import plan_columns, warn_of_constants


def read_training(
    estimator: Any, X: Any, y: Any, *, numeric: bool
) -> tuple[ColumnPlan, Float[Tensor, "n e"], NDArray[Any]]:
    """The plan for the columns of a training table, the inputs that it gives, and the targets.

    Raises:
        ValueError, TypeError: missing or infinite targets, columns that cannot be inputs; with row and column.
    """
    check_target(y)
    target: Any = validate_data(estimator, "no_validation", y, y_numeric=numeric)
    raw = read_rows(estimator, X, reset=True)
    check_consistent_length(np.empty(raw.rows), target)
    plan = plan_columns(raw, estimator.columns)
    warn_of_constants(plan, raw)
    return plan, torch.from_numpy(plan.encode(raw)), np.asarray(target)


def read_rows(estimator: BaseEstimator, X: Any, *, reset: bool) -> RawTable:
    """A table with the number and names of columns that the estimator knows, or, with `reset`, learns."""
    if frame_of(X, "X") is not None or holds_texts(X):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        raw = read_raw(X, "X", names=_names(estimator))
        if raw.rows == 0:
            raise ValueError(f"expected X with at least one row, got {raw.rows} rows and {len(raw.columns)} columns.")
        return raw
    array: Any = validate_data(estimator, X, dtype=np.float64, ensure_all_finite=False, reset=reset)
    names = _names(estimator) or tuple(f"x{k}" for k in range(array.shape[1]))
    return RawTable(tuple(Entries(name, "number", array[:, k]) for k, name in enumerate(names)), None, len(array))


def _names(estimator: Any) -> tuple[str, ...] | None:
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def holds_texts(X: Any) -> bool:
    """Whether an array or nested lists hold texts, dates or missing values beside numbers."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind in "UTM" and kind:
        return True
    if kind == "O":
        return any(not isinstance(entry, int | float | np.number | dict) for entry in np.asarray(X).flat)
    rows = X if isinstance(X, list) else []
    return any(isinstance(entry, str) for row in rows if isinstance(row, list | tuple) for entry in row)


def check_target(y: Any) -> None:
    """Refuse targets that are missing or infinite, with the row of the first one."""
    if y is None or isinstance(y, str):
        return
    values = np.asarray(y)
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
