"""Rows of a file with the columns of a model, for commands that take a few of them."""

from pathlib import Path
from typing import Any

import pyarrow

from gplens.batch.column_types import check_types, types_of
from gplens.batch.explainer import check_names
from gplens.batch.sources import Source, row_of


def one_row(estimator: Any, data: Path, row: int) -> pyarrow.Table:
    """The row with this number."""
    source, plan = Source(data), estimator.columns_
    names = check_names(plan.names, source.names)
    return pyarrow.Table.from_pylist([row_of(source, row, names, types_of(plan))])


def spaced_rows(estimator: Any, data: Path, count: int) -> pyarrow.Table:
    """Rows evenly spaced over the file, read piece by piece."""
    source, plan = Source(data), estimator.columns_
    step = max(source.rows() // count, 1)
    pieces, first = [], 0
    for piece in source.pieces(check_names(plan.names, source.names), types_of(plan)):
        check_types(plan, piece, first)
        pieces.append(piece.take([i for i in range(piece.num_rows) if (first + i) % step == 0]))
        first += piece.num_rows
    if not first:
        raise ValueError(f"expected {data} with at least one row, got none.")
    return pyarrow.concat_tables(pieces).slice(0, count)
