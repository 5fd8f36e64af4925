"""Rows of a file with the columns of a model, for commands that take a few of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow

from gplens.adapters.reading import Reading, read
from gplens.baselines import as_baseline
from gplens.batch.column_types import check_types, types_of
from gplens.batch.explainer import check_names
from gplens.batch.sources import Source, row_of
from gplens.explain import explain
from gplens.explanation import Explanation
from gplens.targets import Target


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
        pieces.append(piece.take(np.arange(-first % step, piece.num_rows, step)))
        first += piece.num_rows
    if not first:
        raise ValueError(f"expected {data} with at least one row, got none.")
    return pyarrow.concat_tables(pieces).slice(0, count)


def explain_inputs(
    estimator: Any, rows: pyarrow.Table, baseline: Any, target: Target, outputs: Any
) -> tuple[Reading, Explanation]:
    """The explanation of a model that encodes its columns in the inputs that it encodes them to, along the same path.

    The Reading is that of the model of these inputs.
    """
    reading = replace(read(estimator), encoder=None, columns=None)
    encoded, _ = estimator.encoder.read(rows, "the table")
    given = as_baseline(baseline, estimator.encoder)
    positions = estimator._positions(outputs)
    return reading, explain(reading, encoded.values, baseline=given, target=target, outputs=positions)
