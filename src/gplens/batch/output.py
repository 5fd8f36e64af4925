"""The output file of a run: CSV or Parquet, written beside its place and renamed when it is complete."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import csv, parquet

from gplens.batch.sources import PARQUET

ENDINGS = (".csv", *PARQUET)


def check_output(path: Path, *, overwrite: bool) -> None:
    """Refuse an output that exists, or that could not be written. Called before the work.

    Raises:
        FileExistsError, FileNotFoundError, PermissionError, ValueError: with what to do.
    """
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"expected --out with a name that ends in {', '.join(ENDINGS)}, got {path}.")
    check_folder_of(path)
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"expected a new file, got {path}, which exists; choose another --out, or add --overwrite."
        )


def check_folder_of(path: Path) -> None:
    """Refuse a path whose folder does not exist or cannot be written to, and a path that is a folder."""
    if path.is_dir():
        raise IsADirectoryError(f"expected the name of a file, got {path}, which is a folder.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"expected an existing folder for {path.name}, got {path.parent}; create it first.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"expected a folder that can be written to, got {path.parent}; choose another --out.")


def write_tables(path: Path, tables: Iterable[pyarrow.Table]) -> None:
    """Write tables of one schema one after the other; a crash leaves the old file or the new one."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    writer: Any = None
    try:
        with beside.open("wb") as file:
            for table in tables:
                if writer is None:
                    kind = parquet.ParquetWriter if path.suffix.lower() in PARQUET else csv.CSVWriter
                    writer = kind(file, table.schema)
                writer.write_table(table)
            if writer is not None:
                writer.close()
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
