"""Explanations of some rows as one Arrow table with a row for each, those that could not be explained among them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow
from numpy.typing import NDArray
from torch import Tensor

from gplens.batch.batch_options import Options
from gplens.explanation import Explanation


@final
@dataclass(frozen=True, eq=False)
class RowBlock:
    """The explanation of some rows of a table."""

    numbers: Sequence[int]
    """Their positions in the table."""
    explanation: Explanation


@final
@dataclass(frozen=True)
class Layout:
    """The columns of results.

    For each output `prediction`, `baseline_prediction`, `attribution:FEATURE`, `std:FEATURE` and `gap`, with the name
    of the output after a colon if there are several: `prediction:setosa`, `attribution:setosa:petal width`. For each
    row `converged` and `error`.
    """

    features: tuple[str, ...]
    outputs: tuple[str, ...] | None
    options: Options

    def table(self, blocks: Sequence[RowBlock], problems: Sequence[str | None], given: pyarrow.Table) -> pyarrow.Table:
        """The results of a table, from explanations of its rows and the reasons why the others have none."""
        if absent := [name for name in self.options.keep if name not in given.column_names]:
            raise ValueError(f"expected the columns {absent} to keep, got a table with {given.column_names}.")
        columns: dict[str, Any] = {name: given[name] for name in self.options.keep}
        for name, field, place in self._numbers():
            columns[name] = _spread_out(
                [(b.numbers, _part(b.explanation, field)[place]) for b in blocks], len(problems)
            )
        converged = [(b.numbers, _part(b.explanation, "converged").double()) for b in blocks]
        columns["converged"] = _spread_out(converged, len(problems)).cast(pyarrow.bool_())
        columns["error"] = pyarrow.array(list(problems), pyarrow.string())
        return pyarrow.table(columns)

    def _numbers(self) -> Iterator[tuple[str, str, Any]]:
        """The name of each column of numbers, the field of Explanation that it comes from, and its place in there."""
        outputs = [(":" + name, (j,)) for j, name in enumerate(self.outputs)] if self.outputs else [("", ())]
        fields = [("attribution", "values"), *([("std", "std")] if self.options.uncertainty else [])]
        for output, j in outputs:
            for field in ("prediction", "baseline_prediction"):
                yield field + output, field, (slice(None), *j)
            for prefix, field in fields:
                for k, feature in enumerate(self.features):
                    yield f"{prefix}{output}:{feature}", field, (slice(None), *j, k)
            yield f"gap{output}", "gap", (slice(None), *j)


def _part(explanation: Explanation, field: str) -> Tensor:
    part = getattr(explanation, field)
    assert part is not None, field
    return part


def _spread_out(parts: Sequence[tuple[Sequence[int], Tensor]], rows: int) -> pyarrow.Array:
    """Values of some rows in a column of all rows, null in the others."""
    values: NDArray[np.float64] = np.zeros(rows)
    absent = np.ones(rows, dtype=bool)
    for numbers, part in parts:
        values[list(numbers)], absent[list(numbers)] = part.numpy(), False
    return pyarrow.array(values, mask=absent)
