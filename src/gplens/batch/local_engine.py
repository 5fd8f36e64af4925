"""Explanations of a file of any length, a piece at a time, on this machine."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow

from gplens.batch.batch_options import Options
from gplens.batch.column_types import check_types, types_of
from gplens.batch.explainer import Explainer, check_names
from gplens.batch.output import check_output, write_tables
from gplens.batch.parts import Parts
from gplens.batch.sources import PIECE, Source
from gplens.explanation.provenance import VERSION

STEP = 512
"""The rows that are explained by one call, between two reports of progress."""
COSTLY_STEP = 64
"""The same with error bars or a background, which take some hundredths of a second per row."""
Advance = Callable[[int, bool], None]
"""A function of the number of finished rows, and whether an earlier run had finished them."""


@final
@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Example:
        >>> gplens.batch.Outcome(rows=1000, resumed=0, errors=2, not_converged=0).errors
        2
    """

    rows: int
    resumed: int
    """Rows of parts that an earlier run had finished."""
    errors: int
    """Rows that could not be explained; the column `error` has the reasons."""
    not_converged: int
    """Rows that missed the tolerance."""


def parts_folder(out: Path) -> Path:
    """The folder of the parts of an output while it is not complete."""
    return out.with_name(f"{out.name}.parts")


def explain_file(
    folder: Path,
    data: Path,
    out: Path,
    options: Options,
    *,
    rows: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    advance: Advance = lambda count, resumed: None,
) -> Outcome:
    """Explain the rows of a CSV or Parquet file with a saved estimator, and write a row of results for each.

    Memory does not grow with the file. Finished pieces are kept in a folder beside the output until it is complete.

    Args:
        folder: what `save` of an estimator wrote.
        data: the file.
        out: the file of results, CSV or Parquet by its ending.
        options: what is computed.
        rows: explain the first rows only; all if None.
        resume: go on with the parts of a run that was stopped.
        overwrite: replace an output that exists.
        advance: called as the rows are done.

    Raises:
        ValueError, OSError: with what was expected, what was got, and what to do. Finished parts stay.

    Returns:
        The Outcome: how many rows were explained, taken over, refused, and not converged.

    Example:
        >>> from pathlib import Path
        >>> data, out = Path(saved) / "rows.csv", Path(saved) / "attributions.csv"
        >>> frame.to_csv(data, index=False)
        >>> gplens.batch.explain_file(Path(saved), data, out, gplens.batch.Options()).rows
        5
    """
    parts = Parts(parts_folder(out))
    if parts.folder.exists() and overwrite and not resume:
        parts.remove()
    if parts.folder.exists() and not resume:
        raise FileExistsError(
            f"expected no unfinished run, got {parts.folder}; add --resume to go on with it, or --overwrite to begin "
            "again."
        )
    check_output(out, overwrite=overwrite or (resume and parts.folder.exists()))
    explainer, source = Explainer(folder, options), Source(data)
    check_names(explainer.layout.features, source.names)
    parts.begin(_manifest(explainer, source, rows))
    with parts.alone():
        try:
            counts = _explain_pieces(explainer, source, parts, rows, advance)
        except Exception:
            parts.remove_if_empty()
            raise
        if counts.rows == 0:
            parts.remove()
            raise ValueError(f"expected {data} with at least one row, got none.")
        write_tables(out, _finished(parts, counts.rows))
        parts.remove()
    return counts


def _manifest(explainer: Explainer, source: Source, rows: int | None) -> dict[str, Any]:
    return {
        "gplens": VERSION,
        "model": hashlib.sha256((explainer.folder / "model.json").read_bytes()).hexdigest(),
        "options": explainer.options.settings(),
        "input": {"name": source.path.name, "sha256": source.fingerprint()},
        "rows": rows,
        "piece": PIECE,
        "step": STEP,
    }


def _explain_pieces(explainer: Explainer, source: Source, parts: Parts, rows: int | None, advance: Advance) -> Outcome:
    """Explain every piece that has no finished part."""
    plan = explainer.model.columns_
    columns = tuple(dict.fromkeys((*explainer.layout.features, *explainer.options.keep)))
    first = resumed = errors = unmet = 0
    for number, piece in enumerate(_limited(source.pieces(columns, types_of(plan)), rows)):
        part = parts.read(number)
        if part is None:
            check_types(plan, piece, first)
            part = explain_piece(explainer, piece, first, advance)
            parts.add(number, part)
        else:
            resumed += piece.num_rows
            advance(piece.num_rows, True)
        first += piece.num_rows
        errors += piece.num_rows - part["error"].null_count
        unmet += part["converged"].to_pylist().count(False)
    return Outcome(first, resumed, errors, unmet)


def explain_piece(
    explainer: Explainer, piece: pyarrow.Table, first: int, advance: Advance = lambda count, resumed: None
) -> pyarrow.Table:
    """The results of a piece, with the numbers of its rows, the first of which is `first`."""
    results = []
    costly = explainer.options.uncertainty or explainer.options.baseline == "background"
    step = min(STEP, COSTLY_STEP) if costly else STEP
    for start in range(0, piece.num_rows, step):
        rows = piece.slice(start, step)
        numbers = pyarrow.array(np.arange(first + start, first + start + rows.num_rows))
        results.append(explainer(rows).add_column(0, "row", numbers))
        advance(rows.num_rows, False)
    return pyarrow.concat_tables(results)


def _limited(pieces: Iterator[pyarrow.Table], rows: int | None) -> Iterator[pyarrow.Table]:
    """The first rows; all if None."""
    left = rows
    for piece in pieces:
        if left is None:
            yield piece
        elif left > 0:
            yield piece.slice(0, left)
            left -= piece.num_rows


def _finished(parts: Parts, rows: int) -> Iterator[pyarrow.Table]:
    """All parts in their order, after a check that they have a row for each row of the input."""
    first = 0
    for number in range(len(list(parts.folder.glob("*.arrow")))):
        part = parts.read(number)
        if part is None or part["row"][0].as_py() != first:
            raise OSError(
                f"expected part {number} of {parts.folder} to begin with row {first}; it is damaged: add --resume."
            )
        first += part.num_rows
        yield part
    if first != rows:
        raise OSError(f"expected {rows} rows in {parts.folder}, got {first}; add --resume.")
