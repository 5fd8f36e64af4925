"""How each column of a table becomes inputs: the encoder that a fit makes from its training table."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder, OriginalRows, RawTable, read_raw
from gplens.adapters.entries import Entries
from gplens.adapters.labels import EntryTexts
from gplens.adapters.tables import Table
from gplens.columns.category import DroppedColumn
from gplens.columns.kind import Column
from gplens.columns.number import Number
from gplens.columns.scalar import ScalarColumn

LISTED = 3
"""The most names of columns that a sentence lists."""


@final
@dataclass(frozen=True, repr=False)
class ColumnPlan(Encoder):
    """The columns of the training table, in order, and the inputs of the model for each of them.

    Example:
        >>> from gplens.estimators import GPRegressor
        >>> print(GPRegressor(random_state=0, progress=False).fit(frame, y.numpy()).columns_)
        2 columns, 2 inputs of the model:
          heat  Number()  as it is
          time  Number()  as it is
    """

    columns: tuple[Column, ...]
    named: bool
    """Whether the training table named its columns."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(name for column in self.columns for name in column.inputs)

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(range(first, first + len(column.inputs))) for first, column in self._with_offsets())

    @property
    def sharing(self) -> tuple[tuple[int, ...], ...]:
        """All inputs, in sets that share one scale and one lengthscale."""
        sets = [(first, members) for first, column in self._with_offsets() for members in column.sharing]
        return tuple(tuple(first + i for i in members) for first, members in sets)

    @property
    def arcs(self) -> tuple[tuple[int, int], ...]:
        return tuple((first + i, first + j) for first, column in self._with_offsets() for i, j in column.arcs)

    def _with_offsets(self) -> Iterator[tuple[int, Column]]:
        """Each column with the number of its first input."""
        first = 0
        for column in self.columns:
            yield first, column
            first += len(column.inputs)

    @property
    def plain(self) -> bool:
        """Whether every column is a number that is an input as it is."""
        return all(
            isinstance(column, ScalarColumn)
            and isinstance(column.kind, Number)
            and column.family != "duration"
            and column.fill is None
            for column in self.columns
        )

    @property
    def path(self) -> str | None:
        encoded: dict[str, list[str]] = {}
        for column in self.columns:
            if column.straight is not None:
                encoded.setdefault(column.straight, []).append(column.name)
        if not encoded:
            return None
        inputs = "; ".join(f"{phrase} of {_listed(names)}" for phrase, names in encoded.items())
        sums = "; attributions of the inputs of a column are added up" if self.sums else ""
        return f"path straight in the inputs of the model: {inputs}; other columns as they are{sums}"

    def read(self, X: Any, what: str, *, vectors: bool = False) -> tuple[Table, OriginalRows]:
        raw = self.raw(X, what, vectors=vectors)
        values = torch.from_numpy(self.encode(raw))
        shown = [column.shown(entries) for column, entries in zip(self.columns, raw.columns, strict=True)]
        return Table(values, raw.names, raw.vector, raw.backend, raw.row_names), _joined(shown)

    def raw(self, X: Any, what: str, *, vectors: bool = False) -> RawTable:
        """A user's table, with the names of the training table."""
        return self.aligned(read_raw(X, what, names=self.names, vectors=vectors, left_out=self.left_out), what)

    @property
    def left_out(self) -> frozenset[str]:
        """The columns without inputs that may hold anything."""
        return frozenset(column.name for column in self.columns if isinstance(column, DroppedColumn))

    def aligned(self, raw: RawTable, what: str) -> RawTable:
        """A table with the names of the training table, after a check that it has the same columns."""
        if raw.vector and raw.names and self.named and sorted(raw.names) == sorted(self.names):
            place = dict(zip(raw.names, raw.columns, strict=True))  # one row with named entries, in any order
            raw = replace(raw, names=self.names, columns=tuple(place[name] for name in self.names))
        got, expected = (raw.names, self.names) if raw.names and self.named else (len(raw.columns), len(self.columns))
        if got != expected:
            raise ValueError(
                f"expected {what} with the columns of the training table, {expected}, got {got}; pass the same columns "
                "in the same order."
            )
        if raw.rows == 0:
            raise ValueError(f"expected {what} with at least one row, got none.")
        return replace(raw, columns=tuple(map(Entries.called, raw.columns, self.names)))

    def encode(self, raw: RawTable) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The inputs (rows, inputs) of an aligned table."""
        parts = [column.encode(entries) for column, entries in zip(self.columns, raw.columns, strict=True)]
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    def decode(self, values: Float[Tensor, "b e"]) -> OriginalRows:
        rows = values.numpy()
        pairs = zip(self.columns, self.blocks, strict=True)
        return _joined([column.decode(rows[:, list(block)]) for column, block in pairs])

    def constant(self, number: float) -> Float[Tensor, "1 e"]:
        return torch.from_numpy(np.concatenate([column.constant(number) for column in self.columns]))[None]

    def __repr__(self) -> str:
        """A line for each column."""
        width = max(len(name) for name in self.names)
        kinds = [_kind(column) for column in self.columns]
        second = max(map(len, kinds))
        lines = [
            f"  {column.name:<{width}}  {kind:<{second}}  {column.description}"
            for column, kind in zip(self.columns, kinds, strict=True)
        ]
        counts = ((len(self.columns), "column"), (len(self.inputs), "input"))
        columns, inputs = (f"{count} {noun}" + ("" if count == 1 else "s") for count, noun in counts)
        return "\n".join([f"{columns}, {inputs} of the model:", *lines])


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _kind(column: Column) -> str:
    """The kind as the user would write it."""
    name = type(column).__name__.removesuffix("Column")
    return repr(column.kind) if isinstance(column, ScalarColumn) else {"Dropped": "Drop"}.get(name, name) + "()"


def _joined(columns: list[tuple[Any, list[str | None]]]) -> OriginalRows:
    numbers = torch.from_numpy(np.column_stack([numbers for numbers, _ in columns]).astype(np.float64))
    return OriginalRows(numbers, EntryTexts.of([texts for _, texts in columns]))
