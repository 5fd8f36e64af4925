"""Predictions of fitted scikit-learn objects at points, passed as a table like the one that they were fitted to."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import check_columns, compare_numbers

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
