"""The interface between the tables that a model was fitted to and the inputs of its Gaussian process."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from gplens.adapters.entries import Entries, is_missing
from gplens.adapters.labels import EntryTexts
from gplens.adapters.tables import Table, frame_of, row_names_of
from gplens.adapters.typed_columns import of_objects, of_series


@final
@dataclass(frozen=True, eq=False)
class RawTable:
    """A table as the user has it, column by column."""

    columns: tuple[Entries, ...]
    names: tuple[str, ...] | None
    """Names of the columns; None if they came without names."""
    rows: int
    vector: bool = False
    """Whether a single row was given."""
    backend: str | None = None
    row_names: tuple[int | str, ...] | None = None


@final
@dataclass(frozen=True, eq=False)
class OriginalRows:
    """Rows in the original columns: numbers, with NaN for entries that are not numbers, and texts for these.

    Booleans are numbers, 0 and 1, with texts.
    """

    numbers: Float[Tensor, "b d"]
    texts: EntryTexts


class Encoder(ABC):
    """How the columns of a table become the inputs of a model, and inputs become entries of columns again."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the columns of the user's table."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """The inputs of the model."""

    @property
    @abstractmethod
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """The inputs of each column."""

    @property
    def sums(self) -> bool:
        """Whether a column has several inputs, or none, so that attributions are added up."""
        return any(len(block) != 1 for block in self.blocks)

    @property
    def arcs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of inputs that are (cos, sin) of an angle, along which paths go the shorter way round (MATH 1.13)."""
        return ()

    @property
    @abstractmethod
    def path(self) -> str | None:
        """A sentence on the coordinates in which paths are straight; None if these are the columns of the table."""

    @abstractmethod
    def read(self, X: Any, what: str, *, vectors: bool = False) -> tuple[Table, OriginalRows]:
        """A user's table as inputs of the model, and in original columns; `what` is its name in messages."""

    @abstractmethod
    def decode(self, values: Float[Tensor, "b e"]) -> OriginalRows:
        """Inputs of the model, which may be averages of rows, in the original columns."""

    @abstractmethod
    def constant(self, number: float) -> Float[Tensor, "1 e"]:
        """The row in which every column has the given number. Raises a ValueError if a column does not hold numbers."""


def read_raw(
    X: Any,
    what: str,
    *,
    names: tuple[str, ...] | None = None,
    vectors: bool = False,
    left_out: Collection[str] = (),
) -> RawTable:
    """Read a frame, an array, nested lists, or, with `vectors`, one row as a vector, Series or dictionary.

    `names` are the names of the columns if X has none. Columns that are `left_out` of the model may hold anything: what
    cannot be read is kept as texts.

    Raises:
        ValueError: for another shape, or a column of entries other than numbers, texts, booleans, dates or times.
    """
    frame = frame_of(X, what)
    if frame is not None:
        column_names = tuple(str(name) for name in frame.columns)
        columns = tuple(
            _read_column(of_series, series, name, left_out)
            for series, name in zip(frame.iter_columns(), column_names, strict=True)
        )
        return RawTable(columns, column_names, len(frame), False, frame.implementation.value, row_names_of(frame))
    labels = _labels_of(X) if vectors else None
    cells: Any = list(X.values()) if isinstance(X, dict) else X
    array = _array(cells)
    vector = array.ndim == 1 and vectors
    array = array[None] if vector else array
    if array.ndim != 2:
        hint = "; for one input, write X[None]; for one row of a frame, frame.iloc[[0]]." if array.ndim == 1 else "."
        raise ValueError(f"expected {what} of shape (rows, features), got {tuple(array.shape)}{hint}")
    column_names = labels or names or tuple(f"x{k}" for k in range(array.shape[1]))
    if len(column_names) != array.shape[1]:
        raise ValueError(
            f"expected {what} with {len(column_names)} columns, {list(column_names)}, got {array.shape[1]}."
        )
    columns = tuple(_read_column(_column, array[:, k], name, left_out) for k, name in enumerate(column_names))
    return RawTable(columns, labels, len(array), vector)


def _read_column(read: Callable[[Any, str], Entries], values: Any, name: str, left_out: Collection[str]) -> Entries:
    try:
        return read(values, name)
    except ValueError:
        if name not in left_out:
            raise
        texts = [None if is_missing(value) else str(value) for value in values]
        return Entries(name, "text", np.array(texts, dtype=object))


def _labels_of(X: Any) -> tuple[str, ...] | None:
    """The keys of a dictionary, or the labels of the entries of a pandas Series."""
    labels = list(X) if isinstance(X, dict) else getattr(X, "index", None)
    if labels is None or callable(labels) or not all(isinstance(label, str) for label in labels):
        return None
    return tuple(labels)


def _array(X: Any) -> NDArray[Any]:
    """An array of numbers, or of objects if there is anything else."""
    if isinstance(X, Tensor):
        return X.detach().cpu().numpy()
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "to_numpy"):
        return X.to_numpy()
    rows = list(X)
    nested = bool(rows) and isinstance(rows[0], list | tuple | np.ndarray)
    if not nested:
        array = np.empty(len(rows), dtype=object)
        array[:] = rows
        return array
    return np.array(X, dtype=object)


def _column(values: NDArray[Any], name: str) -> Entries:
    if values.dtype.kind in "iuf":
        return Entries(name, "number", values.astype(np.float64))
    if values.dtype.kind == "M":
        moments = values.astype("datetime64[us]")
        return Entries(name, "datetime", np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e6))
    if values.dtype.kind == "m":
        return Entries(name, "duration", values / np.timedelta64(1, "s"))
    return of_objects(values.tolist(), name)
