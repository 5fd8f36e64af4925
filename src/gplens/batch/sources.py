"""CSV and Parquet files: as one table for a fit, and in pieces of some thousand rows for files of any length."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import pyarrow
from pyarrow import csv, parquet

PIECE = 4096
"""The rows of a piece; the last one of a file, or of a row group of Parquet, may have fewer."""
HEADER = 2**16
"""Bytes in which the first line of a CSV file is looked for."""
BLOCK = 2**20
"""Bytes of a CSV file that are parsed at once."""
LARGEST = 2**31 - 1
"""The most bytes that pyarrow parses at once."""
PARQUET = (".parquet", ".pq")
TEXT = (".csv", ".tsv", ".txt")
SEPARATORS = (",", ";", "\t")
CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\S+): (.*)", re.DOTALL)
SHAPE = re.compile(r"CSV parse error: Row #(\d+): (.*)", re.DOTALL)
NUMBERS = ("double", "float", "int64")


@final
class Source:
    """A table in a file: the names of its columns, and its rows in pieces."""

    def __init__(self, path: Path) -> None:
        self.path, self.ending = path, _ending(path)
        if not path.is_file():
            raise FileNotFoundError(f"expected a CSV or Parquet file, got {path}, which is no file.")
        self.names: tuple[str, ...] = _sentences(self, lambda: tuple(self._schema().names))
        if repeated := sorted({name for name in self.names if self.names.count(name) > 1}):
            raise ValueError(f"expected unique names of columns in {path}, got {repeated} more than once.")

    @property
    def is_parquet(self) -> bool:
        """Whether the file is Parquet rather than text."""
        return self.ending in PARQUET

    def rows(self) -> int:
        """The number of rows; of a CSV file the number of its line breaks, which may be off by blank lines."""
        if self.is_parquet:
            return parquet.ParquetFile(self.path).metadata.num_rows
        with self.path.open("rb") as file:
            lines = sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))
        return max(lines - 1, 1)

    def fingerprint(self) -> str:
        """SHA-256 of the file."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def whole(self) -> pyarrow.Table:
        """All rows, with types that suit the whole of each column."""
        if self.is_parquet:
            return _sentences(self, lambda: parquet.read_table(self.path))
        size = min(max(self.path.stat().st_size + 1, BLOCK), LARGEST)
        reading = csv.ReadOptions(use_threads=False, block_size=size)
        return _sentences(self, lambda: csv.read_csv(self.path, reading, self._parsing(), _conversion({}, None)))

    def pieces(self, columns: Sequence[str], types: Mapping[str, Any]) -> Iterator[pyarrow.Table]:
        """Some columns of all rows, a piece at a time; `types` of columns of a CSV file, the others are inferred.

        Raises:
            ValueError: a missing column, or an entry that is not of its type, with its row.
        """
        if absent := [name for name in columns if name not in self.names]:
            raise ValueError(
                f"expected the columns {list(columns)} in {self.path}, got {list(self.names)}: without {absent}."
            )
        batches = self._row_groups(columns) if self.is_parquet else self._blocks(columns, types)
        while (piece := _sentences(self, lambda: next(batches, None))) is not None:
            yield piece

    def _row_groups(self, columns: Sequence[str]) -> Iterator[pyarrow.Table]:
        file = parquet.ParquetFile(self.path)
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(PIECE, [group], list(columns), use_threads=False):
                yield pyarrow.Table.from_batches([batch])

    def _blocks(self, columns: Sequence[str], types: Mapping[str, Any]) -> Iterator[pyarrow.Table]:
        reading = csv.ReadOptions(use_threads=False, block_size=BLOCK)
        held: pyarrow.Table | None = None
        with csv.open_csv(self.path, reading, self._parsing(), _conversion(types, columns)) as reader:
            for batch in reader:
                table = pyarrow.Table.from_batches([batch])
                table = table if held is None else pyarrow.concat_tables([held, table])
                while table.num_rows >= PIECE:
                    yield table.slice(0, PIECE)
                    table = table.slice(PIECE)
                held = table
        if held is not None and held.num_rows:
            yield held

    def _schema(self) -> pyarrow.Schema:
        if self.is_parquet:
            return _sentences(self, lambda: parquet.read_schema(self.path))
        reading = csv.ReadOptions(use_threads=False, block_size=BLOCK)
        untyped = csv.ConvertOptions(strings_can_be_null=True)
        return _sentences(self, lambda: csv.open_csv(self.path, reading, self._parsing(), untyped).schema)

    def _parsing(self) -> csv.ParseOptions:
        """The separator that is most frequent in the first line."""
        with pyarrow.input_stream(str(self.path)) as file:
            header = file.read(HEADER).partition(b"\n")[0].decode("utf-8", "replace")
        return csv.ParseOptions(delimiter=max(SEPARATORS, key=header.count), newlines_in_values=True)


def row_of(source: Source, number: int, columns: Sequence[str], types: Mapping[str, Any]) -> dict[str, Any]:
    """One row of a file, by its number."""
    first = 0
    for piece in source.pieces(columns, types):
        if number < first + piece.num_rows:
            return piece.slice(number - first, 1).to_pylist()[0]
        first += piece.num_rows
    raise ValueError(f"expected a row from 0 to {first - 1} of {source.path}, got {number}.")


def _ending(path: Path) -> str:
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    if ending not in (*PARQUET, *TEXT):
        raise ValueError(f"expected a file that ends in {', '.join((*TEXT, *PARQUET))}, got {path}.")
    return ending


def _conversion(types: Mapping[str, Any], columns: Sequence[str] | None) -> csv.ConvertOptions:
    return csv.ConvertOptions(column_types=dict(types), strings_can_be_null=True, include_columns=columns)


def _sentences(source: Source, call: Any) -> Any:
    """The result of a call of pyarrow, whose errors become sentences with the column and the row."""
    try:
        return call()
    except pyarrow.ArrowInvalid as cause:
        raise ValueError(_sentence(source, str(cause))) from cause
    except UnicodeDecodeError as cause:
        raise ValueError(f"expected names in UTF-8, got {source.path} ({cause}); save it in this encoding.") from cause


def _sentence(source: Source, said: str) -> str:
    where = source.path
    if "Empty CSV" in said or (not source.is_parquet and where.stat().st_size == 0):
        return f"expected a table with a line of names, got {where}, which is empty."
    if mistake := CONVERSION.match(said):
        column, row, kind, got = mistake.groups()
        expected = "numbers" if kind in NUMBERS else f"entries of type {kind}"
        names = getattr(source, "names", ())
        name = repr(names[int(column)]) if int(column) < len(names) else f"number {column}"
        place = "" if row is None else f" in row {int(row) - 2}"
        return f"expected {expected} in column {name} of {where}, got {got}{place} (the first row is 0); correct it."
    if mistake := SHAPE.match(said):
        row, problem = mistake.groups()
        return f"expected as many entries as names in each row of {where}, got row {int(row) - 2}: {problem}"
    kind = "Parquet" if source.is_parquet else "CSV"
    return f"expected a {kind} file, got {where}, which cannot be read ({said})."
