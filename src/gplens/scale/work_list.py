"""The division of work: the row groups of all Parquet files, in an order that depends only on the files."""

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import pyarrow
from pyarrow import parquet

from gplens.batch.sources import PARQUET, PIECE
from gplens.scale.places import Place, files_of

AT_ONCE = 16
"""The number of files whose footers are read at the same time."""
TAIL = 8
"""The number of last bytes of a Parquet file, which hold the length of its footer and four letters."""


@final
@dataclass(frozen=True)
class Unit:
    """One row group of one file, which is explained, written, recorded and possibly repeated as a whole."""

    name: str
    """The name of its part and its record: the numbers of the file and of the row group."""
    file: Place
    group: int
    first: int
    """The number of its first row among the rows of all files."""
    rows: int

    def pieces(self, columns: Sequence[str]) -> Iterator[pyarrow.Table]:
        """Some columns of its rows, a piece at a time."""
        left = self.rows
        with self.file.reading() as file:
            table = parquet.ParquetFile(file, pre_buffer=not self.file.is_local)
            for batch in table.iter_batches(PIECE, [self.group], list(columns), use_threads=False):
                if left <= 0:
                    return
                yield pyarrow.Table.from_batches([batch]).slice(0, left)
                left -= batch.num_rows


@final
@dataclass(frozen=True)
class InputFile:
    """What the footer of a Parquet file tells."""

    place: Place
    schema: pyarrow.Schema
    groups: tuple[int, ...]
    """The rows of each row group."""
    identity: dict[str, Any]
    """Size, SHA-256 of the footer (offsets, sizes and statistics of all columns), and listed version."""


@final
@dataclass(frozen=True)
class WorkList:
    """All files of an input, and their row groups.

    Example:
        >>> from pathlib import Path
        >>> from gplens.scale import read_work_list
        >>> path = Path(tempfile.mkdtemp()) / "rows.parquet"
        >>> frame.to_parquet(path)
        >>> work = read_work_list(path)
        >>> work.rows, work.names, work.first_rows(3).rows
        (5, ('heat', 'time'), 3)
    """

    files: tuple[InputFile, ...]
    units: tuple[Unit, ...]
    """Their row groups, in the order of the files."""

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return sum(unit.rows for unit in self.units)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the first file."""
        return tuple(self.files[0].schema.names)

    def first_rows(self, count: int | None) -> "WorkList":
        """The units of the first rows only; all if None."""
        if count is None:
            return self
        kept = (replace(unit, rows=min(unit.rows, count - unit.first)) for unit in self.units if unit.first < count)
        return WorkList(self.files, tuple(kept))

    def identities(self) -> dict[str, dict[str, Any]]:
        """The identity of each file, for the manifest."""
        return {str(file.place): file.identity for file in self.files}

    def check_columns(self, columns: Sequence[str]) -> None:
        """Refuse files that lack a column, or have it with another type than the first file.

        Raises:
            ValueError: with the file, the column and both types, if there is such a file.
        """
        first = self.files[0]
        for file in self.files:
            if absent := [name for name in columns if name not in file.schema.names]:
                raise ValueError(
                    f"expected the columns {list(columns)} in every file, got {file.place} without {absent}."
                )
            for name in columns:
                expected, got = first.schema.field(name).type, file.schema.field(name).type
                if got != expected:
                    raise ValueError(
                        f"expected one schema, got column {name!r} of type {expected} in {first.place} and of type "
                        f"{got} in {file.place}; write the files with one type."
                    )

    def row(self, number: int, columns: Sequence[str]) -> dict[str, Any]:
        """One row, by its number."""
        for unit in self.units:
            if 0 <= number - unit.first < unit.rows:
                rows = pyarrow.concat_tables(unit.pieces(columns))
                return rows.slice(number - unit.first, 1).to_pylist()[0]
        raise ValueError(f"expected a row from 0 to {self.rows - 1}, got {number}.")


def read_work_list(data: str | Path | Place | Sequence[str | Path | Place]) -> WorkList:
    """The work list of Parquet files, folders, URLs and patterns. Only footers are read.

    Args:
        data: a file, a folder, a URL, a pattern such as "data/*.parquet", or several of these.

    Raises:
        FileNotFoundError, ValueError: if there is no file, a file is not a Parquet file, or there are no rows.

    Returns:
        The WorkList, with the files sorted by name.

    Example:
        >>> from pathlib import Path
        >>> from gplens.scale import read_work_list
        >>> path = Path(tempfile.mkdtemp()) / "rows.parquet"
        >>> frame.to_parquet(path, row_group_size=2)
        >>> [unit.rows for unit in read_work_list(path).units]
        [2, 2, 1]
    """
    places = files_of(data, PARQUET)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        files = tuple(threads.map(_read_footer, places))
    units, first = [], 0
    for number, file in enumerate(files):
        for group, rows in enumerate(file.groups):
            if rows:
                units.append(Unit(f"{number:06d}-{group:05d}", file.place, group, first, rows))
                first += rows
    if not units:
        raise ValueError(f"expected at least one row in {len(files)} files, got none; the first file is {places[0]}.")
    return WorkList(files, tuple(units))


def _read_footer(place: Place) -> InputFile:
    try:
        with place.reading() as file:
            size = file.seek(0, 2)
            file.seek(max(size - TAIL, 0))
            length = int.from_bytes(file.read(4), "little")
            file.seek(max(size - TAIL - length, 0))
            digest = hashlib.sha256(file.read(length + TAIL)).hexdigest()
            table = parquet.ParquetFile(file)
            groups = tuple(table.metadata.row_group(k).num_rows for k in range(table.metadata.num_row_groups))
            schema = table.schema_arrow
    except pyarrow.ArrowInvalid as cause:
        raise ValueError(f"expected a Parquet file, got {place}, which cannot be read ({cause}).") from cause
    return InputFile(place, schema, groups, {"size": size, "footer": digest, "version": place.version()})
