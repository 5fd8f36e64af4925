"""The output folder of a run: parts, a record of each, and a manifest of what they are parts of."""

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, final

from pyarrow import parquet

from gplens.batch.parts import differences
from gplens.scale.places import Place
from gplens.scale.work_list import AT_ONCE, Unit

NOTES = "_gplens"
"""The folder of manifest and records. Readers of Parquet folders pass over names that begin with an underscore."""
NAMED = 5
"""Differences that a refusal names; the others are counted."""


@final
@dataclass(frozen=True)
class Record:
    """What is written about a part once it is complete."""

    unit: str
    rows: int
    errors: int
    """Rows that could not be explained."""
    not_converged: int
    """Rows that missed the tolerance."""
    size: int
    """Bytes of the part."""


@final
@dataclass(frozen=True)
class RunFolder:
    """A folder with a part `NAME.parquet` for each unit, and `_gplens/` with the manifest and a record for each part.

    A part counts if its record is there and has its size. The part is written first, then the record, each atomically:
    a run that is killed in between repeats the unit, and never skips it.
    """

    place: Place

    def part(self, unit: Unit) -> Place:
        """The file of a part."""
        return self.place / f"{unit.name}.parquet"

    def _record(self, name: str) -> Place:
        return self.place / NOTES / "records" / f"{name}.json"

    @property
    def manifest(self) -> Place:
        """The file that says what the parts are parts of."""
        return self.place / NOTES / "manifest.json"

    def begin(self, manifest: Mapping[str, Any], *, resume: bool, overwrite: bool) -> None:
        """Make the folder, or go on with the one that is there.

        Raises:
            FileExistsError: the folder holds something, and neither `resume` nor `overwrite` is given.
            ValueError: it belongs to a run with another model, input or options; the difference is named.
        """
        self.check(resume=resume, overwrite=overwrite)
        if not resume:
            self.place.remove()
        if not self.manifest.exists():
            self.manifest.write(json.dumps(manifest, indent=1).encode())
            return
        try:
            before = json.loads(self.manifest.read())
        except ValueError as cause:
            raise ValueError(
                f"expected the manifest of a run, got {self.manifest}, which is damaged ({cause}); remove {self.place}."
            ) from cause
        if changed := list(differences(before, json.loads(json.dumps(manifest)), "")):
            more = f"; and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
            raise ValueError(
                f"expected the run that {self.place} belongs to, got another one: {'; '.join(changed[:NAMED])}{more}. "
                "Restore what it was, or begin again with --overwrite and without --resume."
            )

    def check(self, *, resume: bool, overwrite: bool) -> None:
        """Refuse a folder that must not be written to. Called before the work."""
        if self.place.exists() and not self.place.is_folder():
            raise NotADirectoryError(f"expected a folder, got {self.place}, which is a file; choose another --out.")
        sizes = self.place.sizes() if self.place.exists() else {}
        if not sizes:
            return
        if f"{NOTES}/manifest.json" not in sizes:
            raise FileExistsError(f"expected a new folder, got {self.place}, which holds other files; choose another.")
        if not resume and not overwrite:
            raise FileExistsError(
                f"expected a new folder, got {self.place}, which holds a run; add --resume to go on with it, or "
                "--overwrite to begin again."
            )

    def record(self, record: Record) -> None:
        """Write the record of a part that is complete."""
        self._record(record.unit).write(json.dumps(asdict(record)).encode())

    def finished(self, units: Iterable[Unit]) -> dict[str, Record]:
        """The records of finished units, by their names."""
        sizes = self.place.sizes()
        names = [unit.name for unit in units if f"{NOTES}/records/{unit.name}.json" in sizes]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            records = threads.map(self._read, names)
        return {
            record.unit: record
            for record in records
            if record is not None and sizes.get(f"{record.unit}.parquet") == record.size
        }

    def _read(self, name: str) -> Record | None:
        """A record; None if it is damaged."""
        try:
            record = Record(**json.loads(self._record(name).read()))
        except (ValueError, TypeError):
            return None
        return record if record.unit == name else None

    def check_complete(self, units: Iterable[Unit]) -> dict[str, Record]:
        """All records, after a check that the parts, as they are stored, have one row for each row of the input.

        Raises:
            OSError: a part is missing, damaged, has another number of rows, or belongs to no unit.
        """
        expected = {unit.name: unit for unit in units}
        records = self.finished(expected.values())
        if missing := sorted(expected.keys() - records.keys()):
            raise OSError(
                f"expected {len(expected)} finished parts in {self.place}, got {len(records)}: without "
                f"{', '.join(missing[:NAMED])}; add --resume."
            )
        parts = {name.removesuffix(".parquet") for name in self.place.sizes() if name.endswith(".parquet")}
        if extra := sorted(parts - expected.keys()):
            raise OSError(f"expected parts of this run only in {self.place}, got {', '.join(extra[:NAMED])} too.")
        with ThreadPoolExecutor(AT_ONCE) as threads:
            stored = threads.map(self._rows_of, expected.values())
            for unit, rows in zip(expected.values(), stored, strict=True):
                if not rows == unit.rows == records[unit.name].rows:
                    raise OSError(
                        f"expected {unit.rows} rows in {self.part(unit)}, got {rows}; remove it and add --resume."
                    )
        return records

    def _rows_of(self, unit: Unit) -> int:
        with self.part(unit).reading() as file:
            return parquet.ParquetFile(file).metadata.num_rows
