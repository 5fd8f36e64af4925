"""Changes of fitted scikit-learn objects since they were read, whichever points of a call would show them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel
from torch import Tensor

from gplens.adapters.reading import Compare
from gplens.processes.process import Marginals

Learned = dict[str, Any]


def learned(model: Any) -> Learned:
    """All numbers that a fitted object holds, also in lists and in its kernel, and the functions that it was given.

    Truth values and texts, such as `verbose` and `copy`, are options; what matters of them, predictions show.
    """
    held = {key: value for key, value in vars(model).items() if key != "kernel"}  # that of the next fit
    return {name: value for key, inner in held.items() for name, value in _entries(key, inner)}


def _entries(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Arrays, numbers and functions, by the names under which they are held."""
    if isinstance(value, bool | str | BaseEstimator):  # transformers inside of transformers are watched themselves
        return
    if isinstance(value, int | float | np.number | np.ndarray):
        yield from _array(name, np.asarray(value))
    elif isinstance(value, Kernel):
        yield name, type(value)
        for key, inner in value.get_params(deep=False).items():
            yield from _entries(f"{name}.{key}", inner)
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from _entries(f"{name}[{i}]", inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _entries(f"{name}[{key!r}]", inner)
    elif callable(value):
        yield name, value


def _array(name: str, array: np.ndarray) -> Iterator[tuple[str, Any]]:
    if array.dtype.kind in "iuf":
        yield name, array
    elif array.dtype == object:
        for i, inner in enumerate(array.flat):
            yield from _entries(f"{name}[{i}]", inner)


def noticing_changes(compare_live: Compare, *models: Any) -> Compare:
    """`compare_live`, after a check that the numbers of the objects have not changed.

    Predictions at some points do not reveal a change that is visible only elsewhere on a path.
    """
    before = [{name: _kept(value) for name, value in learned(model).items()} for model in models]

    def compare_all(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        for model, values in zip(models, before, strict=True):
            _check_unchanged(type(model).__name__, values, learned(model))
        return compare_live(points, at)

    return compare_all


def _kept(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _check_unchanged(name: str, before: Learned, now: Learned) -> None:
    for key in dict.fromkeys((*before, *now)):
        if not (key in before and key in now and _same(before[key], now[key])):
            raise ValueError(f"expected the {name} that was read, got one whose {key} has changed since.")


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        floats = old.dtype.kind == new.dtype.kind == "f"
        return np.array_equal(old, new) or (floats and np.array_equal(old, new, equal_nan=True))  # which takes longer
    return bool(old == new) if type(old) is type(new) else False
