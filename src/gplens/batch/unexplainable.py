"""Why rows of a table have no inputs of the model: missing numbers, infinite ones, categories without training rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow

from gplens.adapters.entries import Entries
from gplens.columns.category import CategoryColumn, labels_of
from gplens.columns.column_plan import ColumnPlan
from gplens.columns.scalar import ScalarColumn


def reasons(plan: ColumnPlan, rows: pyarrow.Table) -> list[str | None]:
    """The reason why each row cannot be explained; None for rows that can be.

    Raises:
        ValueError: a column holds entries of another kind than the model was fitted to.
    """
    problems: list[str | None] = [None] * rows.num_rows
    if rows.num_rows == 0:
        return problems
    raw = plan.raw(rows, "the table")
    for column, entries in zip(plan.columns, raw.columns, strict=True):
        for row, problem in _problems(column, entries):
            problems[row] = problems[row] or f"column {entries.name!r}: {problem}"
    return problems


def _problems(column: Any, entries: Entries) -> Iterator[tuple[int, str]]:
    """Rows of a column without inputs, each with the reason."""
    if isinstance(column, CategoryColumn):
        categories = set(column.categories)
        for row, label in enumerate(labels_of(entries.as_family(column.family))):
            if label not in categories:
                got = "a missing entry" if label is None else repr(label)
                yield row, f"{got} is not a category of the training table"
    elif isinstance(column, ScalarColumn):
        yield from _problems_of_numbers(column, column.in_family(entries))


def _problems_of_numbers(column: ScalarColumn, entries: Entries) -> Iterator[tuple[int, str]]:
    missing, infinite = entries.missing, np.isinf(entries.values)
    if column.fill is None:
        rows = np.flatnonzero(missing).tolist()
        yield from ((row, "missing, as in no row of the training table") for row in rows)
    yield from ((row, f"{entries.shown(row)} is not finite") for row in np.flatnonzero(infinite).tolist())
    present = np.flatnonzero(~missing & ~infinite).tolist()
    if column.kind.check(entries.values[present]) is None:
        return
    for row in present:
        if column.kind.check(entries.values[row : row + 1]) is not None:
            yield row, f"{entries.shown(row)} is not a number that {column.kind!r} takes"
