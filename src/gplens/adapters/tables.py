"""Tables that users pass: arrays, tensors, nested lists, and the frames that narwhals supports."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from math import isfinite
from numbers import Integral
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor


@final
@dataclass(frozen=True)
class Table:
    """Finite numbers in float64, with names of the columns if the user's object has them."""

    values: Float[Tensor, "b d"]
    names: tuple[str, ...] | None
    vector: bool = False
    """Whether a single vector was given, which is stored as one row."""
    backend: str | None = None
    """The library of the user's frame: "pandas", "polars", "pyarrow", ...; None for arrays, tensors and lists."""
    row_names: tuple[int | str, ...] | None = None
    """The index of a pandas frame; None if it just counts the rows."""

    def feature_names(self, given: Any, encoded: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """The given names, the names of encoded columns, the names of the frame, or x0, x1, ..."""
        d = self.values.shape[1] if encoded is None else len(encoded)
        if given is None and not (encoded or self.names):
            return tuple([f"x{i}" for i in range(d)])
        if given is None:
            names: list[Any] = list(encoded or self.names or ())
        else:
            names = list(given) if isinstance(given, Iterable) else [given]
        texts = all(isinstance(name, str) for name in names)
        if isinstance(given, str) or not texts or len(names) != d or len(set(names)) != d:
            raise ValueError(f"expected {d} unique feature names, one text for each column of X, got {names}.")
        return tuple(map(str, names))

    def check_columns(self, whose: str, names: tuple[str, ...] | None) -> None:
        """Refuse X if its columns differ from those of the model or the baseline in names or order."""
        if self.names and names and self.names != names:
            raise ValueError(
                f"expected X with the columns of {whose}, {list(names)}, got {list(self.names)}; give both the same "
                "columns in the same order."
            )


def read_table(X: Any, what: str, *, vectors: bool = False) -> Table:
    """Read X as a table of float64.

    Args:
        X: a dense tensor, an array, nested lists, or a pandas, polars or pyarrow frame, (rows, features).
        what: its name in messages.
        vectors: whether a vector is accepted, as one row.

    Raises:
        ValueError: for text, dates, complex or masked numbers, and for a number that is not finite, with its place.
    """
    frame = frame_of(X, what)
    names = None if frame is None else tuple(str(name) for name in frame.columns)
    values = _numbers(X, what) if frame is None else _frame_numbers(frame, what)
    vector = values.ndim == 1 and vectors
    if vector:
        values = values[None]
    if values.ndim != 2:
        hint = "; for one input, write X[None]; for one row of a frame, frame.iloc[[0]]." if values.ndim == 1 else "."
        raise ValueError(f"expected {what} of shape (rows, features), got {tuple(values.shape)}{hint}")
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise ValueError(f"expected {what} with at least one row and one feature, got {tuple(values.shape)}.")
    _check_finite(values, names, what)
    backend, row_names = (None, None) if frame is None else (frame.implementation.value, row_names_of(frame))
    return Table(values, names, vector, backend, row_names)


def frame_of(X: Any, what: str) -> Any:
    """X as a narwhals DataFrame; None if it is no frame."""
    if not hasattr(type(X), "columns"):
        return None
    import narwhals

    try:
        frame = narwhals.from_native(X, pass_through=True)
    except narwhals.exceptions.DuplicateError:
        raise ValueError(f"expected unique feature names in {what}, got {list(X.columns)}; rename them.") from None
    if isinstance(frame, narwhals.LazyFrame):
        raise ValueError(f"expected {what} with its rows in memory, got a {type(X).__name__}; call .collect() first.")
    return frame if isinstance(frame, narwhals.DataFrame) else None


def row_names_of(frame: Any) -> tuple[int | str, ...] | None:
    """The index of a pandas frame; labels other than texts and whole numbers become texts. None if it counts rows."""
    import narwhals

    index: Any = narwhals.maybe_get_index(frame)
    if index is None:
        return None
    labels = [int(label) if isinstance(label, Integral) else str(label) for label in index]
    return None if labels == list(range(len(labels))) else tuple(labels)


def _frame_numbers(frame: Any, what: str) -> Float[Tensor, "b d"]:
    import narwhals

    columns = []
    for column in frame.iter_columns():
        if column.dtype in (narwhals.Int128, narwhals.UInt128):  # numpy has no whole numbers of 128 bits
            column = column.cast(narwhals.Float64)
        try:
            columns.append(_float64(column.to_numpy()))
        except (TypeError, ValueError) as cause:
            problem = f"column {column.name!r} of type {column.dtype}"
            raise ValueError(f"expected {what} with columns of numbers, got {problem}; {ENCODE}") from cause
    return torch.tensor(np.stack(columns, axis=1)) if columns else torch.empty(frame.shape, dtype=torch.float64)


def _numbers(X: Any, what: str) -> Tensor:
    if isinstance(X, Tensor):
        if X.is_complex() or X.layout is not torch.strided:
            raise ValueError(f"expected {what} as a dense tensor of real numbers, got {X.dtype}, {X.layout}.")
        return X.detach().to(device="cpu", dtype=torch.float64, copy=True)  # X may be changed later by its owner
    try:
        return torch.tensor(_float64(X.to_numpy() if hasattr(X, "to_numpy") else X))
    except (TypeError, ValueError) as cause:
        raise ValueError(
            f"expected {what} as a table of numbers, got {type(X).__name__} ({cause}); {ENCODE}"
        ) from cause


def _float64(X: Any) -> NDArray[np.float64]:
    """Numbers as float64. numpy alone would also accept texts and dates, and drop imaginary parts."""
    if np.ma.is_masked(X):
        raise TypeError("some of its entries are masked")
    array = np.asarray(X)
    if array.dtype.kind not in "biufO":
        raise TypeError(f"its type is {array.dtype}")
    if array.dtype.kind == "O" and any(isinstance(entry, str | bytes) for entry in array.flat):
        raise TypeError("some of its entries are text")
    return array.astype(np.float64)


@final
class GivenTable:
    """A table as it was given. Numbers are read at once; other entries wait for a model that encodes columns."""

    def __init__(self, X: Any, what: str, *, vectors: bool = False) -> None:
        self.what, self._table, self._problem = what, None, None
        frame = frame_of(X, what)
        self.names = None if frame is None else tuple(str(name) for name in frame.columns)
        try:
            self._table = read_table(X, what, vectors=vectors)
        except ValueError as problem:
            if frame is None and not _holds_objects(X):
                raise
            self._problem = problem
        plain = frame is None and self._table is not None
        self.X = None if plain else deepcopy(X)  # which its owner may change later

    @property
    def table(self) -> Table:
        """The table of numbers. Raises a ValueError if it is not one."""
        if self._table is None:
            assert self._problem is not None
            raise self._problem
        return self._table

    @property
    def raw(self) -> Any:
        """The table that an encoder reads."""
        return self.table.values.numpy() if self.X is None else self.X

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.raw) if self._table is None else len(self._table.values)


def _holds_objects(X: Any) -> bool:
    """Whether X is a row or an array of Python objects, such as texts, or a dictionary."""
    return isinstance(X, dict) or getattr(getattr(X, "dtype", None), "kind", "") == "O"


ENCODE = "encode text, categories and dates as numbers, as was done before the model was fitted."


def _check_finite(values: Float[Tensor, "b d"], names: tuple[str, ...] | None, what: str) -> None:
    if isfinite(values.sum().item()):  # what is not finite does not vanish in a sum
        return
    bad = (~values.isfinite()).nonzero()
    if len(bad):
        row, column = (int(i) for i in bad[0])
        place = f"row {row}, column {column}" + (f" ({names[column]!r})" if names else "")
        raise ValueError(
            f"expected finite numbers in {what}, got {len(bad)} that are not, the first {float(values[row, column])} "
            f"in {place}; fill or drop them, as was done before the model was fitted."
        )
