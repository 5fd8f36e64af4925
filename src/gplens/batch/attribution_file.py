"""Read attributions that `gplens explain` wrote, as an Explanation to draw."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import torch
from torch import Tensor

import gplens
from gplens.adapters.entries import is_missing
from gplens.adapters.labels import EntryTexts, Labels
from gplens.batch.sources import Source
from gplens.explanation import Explanation, Spread
from gplens.explanation.provenance import Provenance

WHERE = "the baseline of `gplens explain`"


def read_attributions(
    path: Path,
    *,
    data: Path | None = None,
    row: int | None = None,
    rows: int | None = None,
    output: str | None = None,
) -> Explanation:
    """The attributions of a file, with `std` as ± 1 sd if it has them. Rows that could not be explained are left out.

    Args:
        path: what `gplens explain` wrote, .parquet or .csv.
        data: the table that was explained, for the values of its columns; the columns that were kept if None.
        row: the number of a single row.
        rows: how many rows, evenly spaced; all if None.
        output: the name of one output of several.
    """
    table = Source(path).whole()
    outputs, features = _names(path, table.column_names)
    if output is not None:
        if output not in outputs:
            raise ValueError(f"expected --output to be one of {[o for o in outputs if o is not None]}, got {output!r}.")
        outputs = (output,)
    given = table if data is None else Source(data).whole()
    if given.num_rows < table.num_rows:
        raise ValueError(
            f"expected {data} with the {table.num_rows:,} rows of {path}, got {given.num_rows:,}; pass the table that "
            "was explained."
        )
    chosen = _chosen(path, table, f"attribution:{_of(outputs, 0)}{features[0]}", row, rows)
    table, given = table.take(chosen), given.take(chosen)
    values, std = (_numbers(table, prefix, outputs, features) for prefix in ("attribution", "std"))
    assert values is not None
    prediction, start, gap = (_by_output(table, name, outputs) for name in ("prediction", "baseline_prediction", "gap"))
    inputs, texts = _entries(given, features)
    return Explanation(
        values=values,
        prediction=prediction,
        baseline_prediction=start,
        gap=gap,
        error=None,
        nodes=torch.zeros(len(values), dtype=torch.int64),
        converged=torch.tensor([bool(done) for done in table["converged"].to_pylist()]),
        inputs=inputs,
        baseline=torch.full_like(inputs, torch.nan),
        feature_names=features,
        output_names=None if outputs == (None,) else outputs,
        provenance=Provenance(
            path.name,
            None,
            "Response()",
            WHERE,
            "unknown",
            np.nan,
            "unknown",
            (),
            gplens.__version__,
        ),
        spread=None if std is None else Spread(std),
        labels=Labels(tuple(chosen), texts),
    )


def _names(path: Path, columns: Sequence[str]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """The outputs, (None,) for a single one, and the features."""
    outputs = tuple(name.partition(":")[2] for name in columns if name.startswith("prediction:")) or (None,)
    prefix = f"attribution:{_of(outputs, 0)}"
    features = tuple(name.removeprefix(prefix) for name in columns if name.startswith(prefix))
    if not features or "converged" not in columns:
        raise ValueError(
            f"expected {path} to be a file that `gplens explain` wrote, with columns attribution:FEATURE, got a table "
            f"with the columns {', '.join(columns[:8])}; run `gplens explain` first, or name the folder of a model."
        )
    return outputs, features


def _of(outputs: Sequence[Any], j: int) -> str:
    return "" if outputs[j] is None else f"{outputs[j]}:"


def _chosen(path: Path, table: pyarrow.Table, column: str, row: int | None, rows: int | None) -> list[int]:
    """The numbers of the rows that were explained, or of the one that is asked for."""
    explained = np.flatnonzero(np.asarray(table[column].is_valid()))
    if row is not None:
        if row >= table.num_rows:
            raise ValueError(f"expected a row from 0 to {table.num_rows - 1}, got --row {row}.")
        if row not in explained:
            raise ValueError(f"row {row} could not be explained: {table['error'][row].as_py()}")
        return [row]
    if not len(explained):
        raise ValueError(f"expected {path} with at least one row that was explained, got none.")
    step = 1 if rows is None else max(len(explained) // rows, 1)
    return explained[::step][:rows].tolist()


def _numbers(table: pyarrow.Table, prefix: str, outputs: Sequence[Any], features: Sequence[str]) -> Tensor | None:
    """Attributions or deviations, (rows, features) or (rows, outputs, features); None if the file has none."""
    parts = [[f"{prefix}:{_of(outputs, j)}{feature}" for feature in features] for j in range(len(outputs))]
    if parts[0][0] not in table.column_names:
        return None
    numbers = torch.stack([torch.stack([_column(table, name) for name in part], dim=-1) for part in parts], dim=1)
    return numbers[:, 0] if outputs[0] is None else numbers


def _by_output(table: pyarrow.Table, name: str, outputs: Sequence[Any]) -> Tensor:
    if outputs[0] is None:
        return _column(table, name)
    return torch.stack([_column(table, f"{name}:{output}") for output in outputs], dim=1)


def _column(table: pyarrow.Table, name: str) -> Tensor:
    return torch.tensor(table[name].to_numpy().astype(np.float64))


def _entries(table: pyarrow.Table, features: Sequence[str]) -> tuple[Tensor, EntryTexts]:
    """The values of the features as numbers and texts; NaN, and no text, for a column that is not there."""
    numbers, texts = [], []
    for name in features:
        there = name in table.column_names
        entries = table[name].to_pylist() if there else [None] * table.num_rows
        plain = [float(x) if isinstance(x, bool | int | float) else np.nan for x in entries]
        numbers.append(torch.tensor(plain, dtype=torch.float64))
        texts.append([_text(x) if there else None for x in entries])
    return torch.stack(numbers, dim=1), EntryTexts.of(texts)


def _text(entry: Any) -> str | None:
    """What is shown of an entry; None if it is its number."""
    if is_missing(entry):
        return "missing"
    return None if isinstance(entry, int | float) and not isinstance(entry, bool) else str(entry)
