"""What users hand in as a table: arrays, tensors, pandas and polars frames, nested lists."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor


@final
@dataclass(frozen=True)
class Table:
    """Finite numbers in float64, with the names of the columns where the user's object has them."""

    values: Float[Tensor, "b d"]
    names: tuple[str, ...] | None
    vector: bool = False
    """Whether a single vector was given, kept as one row."""


def read_table(X: Any, what: str, *, vectors: bool = False) -> Table:
    """X as a table; an error that names the row and the column for a number that is not finite.

    Args:
        X: the user's object.
        what: what it is called in messages.
        vectors: whether a vector is taken, as one row.
    """
    values, names = _numbers(X, what), _names(X)
    vector = values.ndim == 1 and vectors
    if vector:
        values = values[None]
    if values.ndim != 2:
        hint = " For one input, write X[None]." if values.ndim == 1 else ""
        raise ValueError(f"{what} has shape {tuple(values.shape)}; a table (rows, features) was wanted.{hint}")
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise ValueError(f"{what} has shape {tuple(values.shape)}; at least one row and one feature were wanted.")
    _check_finite(values, names, what)
    return Table(values, names, vector)


def _numbers(X: Any, what: str) -> Tensor:
    if isinstance(X, Tensor):
        if X.is_complex() or X.layout is not torch.strided:
            raise ValueError(f"{what} is {X.dtype}, {X.layout}; a dense tensor of real numbers was wanted.")
        return X.detach().to(device="cpu", dtype=torch.float64, copy=True)  # what the user does to X later is theirs
    try:
        return torch.tensor(_float64(X.to_numpy() if hasattr(X, "to_numpy") else X))
    except (TypeError, ValueError) as cause:
        raise ValueError(f"{what} is not a table of numbers: {_culprit(X, cause)}. {ENCODE}") from cause


def _float64(X: Any) -> NDArray[np.float64]:
    """Numbers as float64. numpy would also read text and dates, and drop the imaginary part."""
    if np.ma.is_masked(X):
        raise TypeError("some of its entries are masked")
    array = np.asarray(X)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"its type is {array.dtype}")
    if array.dtype.kind == "O" and any(isinstance(entry, str | bytes) for entry in array.flat):
        raise TypeError("some of its entries are text")
    return array.astype(np.float64)


ENCODE = "Encode text, categories and dates as numbers, as the model saw them when it was fitted."


def _culprit(X: Any, cause: Exception) -> str:
    """The first column of a frame that is not numeric, or what numpy says."""
    for name in _names(X) or ():
        column = X[name]
        try:
            _float64(column.to_numpy())
        except (TypeError, ValueError):
            return f"column {name!r} has type {getattr(column, 'dtype', 'object')}"
    return f"got {type(X).__name__} ({cause})"


def _names(X: Any) -> tuple[str, ...] | None:
    columns = getattr(X, "columns", None)
    return None if columns is None else tuple(str(name) for name in columns)


def _check_finite(values: Float[Tensor, "b d"], names: tuple[str, ...] | None, what: str) -> None:
    bad = (~values.isfinite()).nonzero()
    if len(bad):
        row, column = (int(i) for i in bad[0])
        place = f"row {row}, column {column}" + (f" ({names[column]!r})" if names else "")
        raise ValueError(
            f"{what} has {len(bad)} values that are not finite, the first {float(values[row, column])} in {place}; "
            "finite numbers were wanted. Fill or drop them, as was done before the model was fitted."
        )
