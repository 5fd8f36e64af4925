"""The output folder of a run: parts, a record of each part, and a manifest of the run."""

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
"""The folder of manifest and records. Readers of Parquet folders ignore names that begin with an underscore."""
NAMED = 5
"""The most differences that an error names; the others are counted."""


@final
@dataclass(frozen=True)
class Record:
    """The record of a complete part."""

    unit: str
    rows: int
    errors: int
    """Rows that could not be explained."""
    not_converged: int
    """Rows that missed the tolerance."""
    size: int
    """The size of the part in bytes."""


@final
@dataclass(frozen=True)
class RunFolder:
    """A folder with a part `NAME.parquet` for each unit, and `_gplens/` with the manifest and a record for each part.

    A part is finished if its record exists and has its size. The part is written first, then the record, each
    atomically: a run that is killed in between repeats the unit and never skips it.
    """

    place: Place

    def part(self, unit: Unit) -> Place:
        """The file of a part."""
        return self.place / f"{unit.name}.parquet"

    def _record(self, name: str) -> Place:
        return self.place / NOTES / "records" / f"{name}.json"

    @property
    def manifest(self) -> Place:
        """The file with model, input and options of the run."""
        return self.place / NOTES / "manifest.json"

    def begin(self, manifest: Mapping[str, Any], *, resume: bool, overwrite: bool) -> None:
        """Create the folder, or continue with the existing one.

        Raises:
            FileExistsError: if the folder is not empty, and neither `resume` nor `overwrite` is given.
            ValueError: if it belongs to a run with another model, input or options, with the differences.
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
                "Restore them, or begin again with --overwrite and without --resume."
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
                f"expected a new folder, got {self.place}, which holds a run; add --resume to continue it, or "
                "--overwrite to begin again."
            )

    def record(self, record: Record) -> None:
        """Write the record of a complete part."""
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
        """All records, after a check that the stored parts have one row for each row of the input.

        Raises:
            OSError: if a part is missing, damaged, has another number of rows, or belongs to no unit.
        """
        expected = {unit.name: unit for unit in units}
        records = self.finished(expected.values())
        if missing := sorted(expected.keys() - records.keys()):
            raise OSError(
                f"expected {len(expected)} finished parts in {self.place}, got {len(records)}; missing: "
                f"{', '.join(missing[:NAMED])}; add --resume."
            )
        parts = {name.removesuffix(".parquet") for name in self.place.sizes() if name.endswith(".parquet")}
        if extra := sorted(parts - expected.keys()):
            raise OSError(f"expected only parts of this run in {self.place}, got also {', '.join(extra[:NAMED])}.")
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
