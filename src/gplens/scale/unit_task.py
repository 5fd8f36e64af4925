"""The work on a unit: read a row group, explain its rows, write the part, then the record."""

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

import pyarrow
from pyarrow import parquet

from gplens.batch.batch_options import Options
from gplens.batch.column_types import check_types
from gplens.batch.explainer import Explainer
from gplens.batch.local_engine import explain_piece
from gplens.estimators.saving import JSON
from gplens.scale.places import Place
from gplens.scale.run_folder import Record, RunFolder
from gplens.scale.work_list import Unit

HELD = 16
"""The number of pieces in a row group of a part, and the most that are held in memory."""


@final
class UnitTask:
    """`UnitTask(...)(unit)` explains a unit and writes its part and its record.

    It is pickled as places and options, and loads the model on first use. The part is determined by the model, the
    options and the unit, so that any worker may write it, and more than once.
    """

    def __init__(self, model: Place, fingerprint: str, options: Options, out: Place) -> None:
        self.model, self.fingerprint, self.options, self.folder = model, fingerprint, options, RunFolder(out)
        self._explainer: Explainer | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_explainer": None}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(dict.fromkeys((*self.explainer.layout.features, *self.options.keep)))

    @property
    def explainer(self) -> Explainer:
        """The function of batches, after a check that the model is the one of the manifest.

        Raises:
            OSError, ValueError: if the model cannot be loaded, or is another one.
        """
        if self._explainer is None:
            self._explainer = self._load()
        return self._explainer

    def _load(self) -> Explainer:
        try:
            with local_copy(self.model) as folder:
                got = fingerprint_of(folder)
                explainer = Explainer(folder, self.options)
                _ = explainer.layout
        except OSError as cause:
            raise OSError(
                f"expected the model {self.model} on every worker, got {cause} Put it on storage that all of them "
                "can access, or pass a URL."
            ) from cause
        if got != self.fingerprint:
            raise ValueError(
                f"expected the model with fingerprint {self.fingerprint[:12]} in {self.model} on every worker, got "
                f"{got[:12]} on one of them; copy the same model to all."
            )
        return explainer

    def __call__(self, unit: Unit) -> Record:
        """Explain a unit. The record is written after the part is complete."""
        part, rows, errors, unmet = self.folder.part(unit), 0, 0, 0
        with part.writing() as file:
            writer = None
            for table in _joined(self._results(unit)):
                writer = writer or parquet.ParquetWriter(file, table.schema, write_page_checksum=True)
                writer.write_table(table, row_group_size=table.num_rows)
                rows += table.num_rows
                errors += table.num_rows - table["error"].null_count
                unmet += table["converged"].to_pylist().count(False)
            if writer is None or rows != unit.rows:
                raise OSError(f"expected {unit.rows} rows in row group {unit.group} of {unit.file}, got {rows}.")
            writer.close()
            size = file.tell()
        record = Record(unit.name, rows, errors, unmet, size)
        self.folder.record(record)
        return record

    def _results(self, unit: Unit) -> Iterator[pyarrow.Table]:
        first, plan = unit.first, self.explainer.model.columns_
        for piece in unit.pieces(self.columns):
            check_types(plan, piece, first)
            yield explain_piece(self.explainer, piece, first)
            first += piece.num_rows


def _joined(tables: Iterator[pyarrow.Table]) -> Iterator[pyarrow.Table]:
    """The concatenation of every HELD tables."""
    held: list[pyarrow.Table] = []
    for table in tables:
        held.append(table)
        if len(held) == HELD:
            yield pyarrow.concat_tables(held).combine_chunks()
            held = []
    if held:
        yield pyarrow.concat_tables(held).combine_chunks()


@contextmanager
def local_copy(model: Place) -> Iterator[Path]:
    """The folder of a model on this machine: the folder itself, or a temporary copy of the files behind a URL."""
    if model.is_local:
        yield Path(model.connect()[1])
        return
    with tempfile.TemporaryDirectory(prefix="gplens-model-") as name:
        for file in model.sizes():
            (Path(name) / file).write_bytes((model / file).read())
        yield Path(name)


def fingerprint_of(folder: Path) -> str:
    """SHA-256 of the file that describes a saved model, with the checksums of its other files."""
    path = folder / JSON
    if not path.is_file():
        raise FileNotFoundError(f"expected the folder of a saved model, got {folder}, which has no {JSON}.")
    return hashlib.sha256(path.read_bytes()).hexdigest()
