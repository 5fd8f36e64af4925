"""Predictions of fitted scikit-learn objects at points, passed as a table like the one that they were fitted to."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import Compare, check_columns, check_unchanged, compare_numbers
from gplens.processes.process import Marginals

SAME = 1e-6
"""The largest accepted difference to the host's prediction, relative to the prior's scale. Observed in tests: 6e-9."""
HINT = (
    "A subclass may have changed predict(), fitted attributes may have been changed by hand (fit the model again), or "
    "the adapter misreads the model."
)


def predict(method: Callable[[Any], Any], model: Any, points: Float[Tensor, "k d"]) -> tuple[Tensor, ...]:
    """The arrays that a method of the model returns, in float64."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        warnings.filterwarnings("ignore", "Predicted variances smaller than 0", UserWarning)
        predicted = method(_as_fitted(model, points.numpy()))
    arrays = predicted if isinstance(predicted, tuple) else (predicted,)
    return tuple(torch.as_tensor(np.asarray(array, np.float64)) for array in arrays)


def compare(what: str, ours: Float[Tensor, "*k"], host: Float[Tensor, "*k"], size: Tensor) -> float:
    """The largest difference to the host's prediction; refused if it is above 1e-6 of the size."""
    return compare_numbers(what, ours, host, SAME * size, HINT)


def learned(model: Any) -> dict[str, Tensor]:
    """All numbers that a fitted object holds, and the parameters of its kernel; arrays of float64 are not copied."""
    values = {name: value for name, value in vars(model).items() if not isinstance(value, bool)}
    numbers = {name: np.asarray(v) for name, v in values.items() if isinstance(v, int | float | np.number | np.ndarray)}
    if hasattr(model, "kernel_"):
        numbers["kernel_.theta"] = model.kernel_.theta
    kinds = {name: array for name, array in numbers.items() if array.dtype.kind in "iuf"}
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of torch, for arrays that are read-only
        return {name: torch.as_tensor(_float64(array)) for name, array in kinds.items()}


def _float64(array: np.ndarray) -> np.ndarray:
    """In float64 and with strides that torch accepts, without a copy if that is possible."""
    same = array.astype(np.float64, copy=False)
    return same if all(stride >= 0 for stride in same.strides) else same.copy()


def noticing_changes(compare_live: Compare, *models: Any) -> Compare:
    """`compare_live`, after a check that the numbers of the objects have not changed.

    Predictions at some points do not reveal a change that is visible only elsewhere on a path.
    """
    before = [{name: number.clone() for name, number in learned(model).items()} for model in models]

    def compare_all(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        for model, numbers in zip(models, before, strict=True):
            check_unchanged(type(model).__name__, numbers, learned(model))
        return compare_live(points, at)

    return compare_all


def columns_of(model: Any) -> tuple[str, ...] | None:
    """Names of the columns of the frame that the model was fitted on."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def check_fitted_columns(model: Any, points: Float[Tensor, "k d"] | None) -> None:
    """Refuse points whose number of columns differs from that of the model."""
    if hasattr(model, "n_features_in_"):
        check_columns(model.n_features_in_, points)


def _as_fitted(model: Any, points: np.ndarray) -> Any:
    """A frame for a model that was fitted on a frame, since some steps select columns by name."""
    names = columns_of(model)
    if names is None:
        return points
    try:
        import pandas
    except ImportError:  # it was a polars frame: an array will do, unless columns are found by name
        return points
    return pandas.DataFrame(points, columns=list(names))
