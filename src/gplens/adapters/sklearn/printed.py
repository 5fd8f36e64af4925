"""What a fitted scikit-learn object prints for points: called as it was fitted, with its warnings kept to itself."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import compare

SAME = 1e-6
"""Largest difference to what the host prints, relative to the prior's scale. Seen in the tests: 6e-9."""
HINT = "A subclass may have changed predict(), or the fitted attributes were changed by hand: fit the model again."


def printed(method: Callable[[Any], Any], model: Any, points: Float[Tensor, "k d"]) -> tuple[Tensor, ...]:
    """The arrays that a method of the model returns, in float64."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        warnings.filterwarnings("ignore", "Predicted variances smaller than 0", UserWarning)
        found = method(_as_fitted(model, points.numpy()))
    arrays = found if isinstance(found, tuple) else (found,)
    return tuple(torch.as_tensor(np.asarray(array, np.float64)) for array in arrays)


def check(what: str, ours: Float[Tensor, "*k"], host: Float[Tensor, "*k"], size: Tensor) -> float:
    """Refuse a number that is not the one that the host prints."""
    return compare(what, ours, host, SAME * size, HINT)


def columns_of(model: Any) -> tuple[str, ...] | None:
    """The names of the columns of the frame that the model was fitted on."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def check_features(model: Any, points: Float[Tensor, "k d"]) -> None:
    """As many columns as the model was fitted on."""
    fitted = getattr(model, "n_features_in_", points.shape[1])
    if fitted != points.shape[1]:
        raise ValueError(f"X has {points.shape[1]} columns; the model was fitted on {fitted}.")


def _as_fitted(model: Any, points: np.ndarray) -> Any:
    """A frame for a model that was fitted on one: some steps find their columns by name."""
    names = columns_of(model)
    if names is None:
        return points
    try:
        import pandas
    except ImportError:  # it was a polars frame: an array will do, unless columns are found by name
        return points
    return pandas.DataFrame(points, columns=list(names))
