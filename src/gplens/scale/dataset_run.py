"""Explanations of Parquet files of any number and size, on one machine or on many."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, final

from gplens.batch.batch_options import Options
from gplens.batch.local_engine import STEP, Advance
from gplens.batch.sources import PIECE
from gplens.explanation.provenance import VERSION
from gplens.scale.engines import Engine, Local
from gplens.scale.places import Place
from gplens.scale.run_folder import RunFolder
from gplens.scale.unit_task import UnitTask, fingerprint_of, local_copy
from gplens.scale.work_list import WorkList, read_work_list


@final
@dataclass(frozen=True)
class DatasetOutcome:
    """The counts of a run.

    Example:
        >>> from gplens.scale import DatasetOutcome
        >>> DatasetOutcome(rows=1000, parts=2, resumed=400, errors=0, not_converged=0, seconds=3.0).rate
        200.0
    """

    rows: int
    parts: int
    resumed: int
    """Rows of parts that an earlier run had finished."""
    errors: int
    """Rows that could not be explained; the column `error` has the reasons."""
    not_converged: int
    """Rows that missed the tolerance."""
    seconds: float
    """The time of the units of this run."""

    @property
    def rate(self) -> float:
        """Rows of this run per second."""
        return (self.rows - self.resumed) / max(self.seconds, 1e-9)


def explain_dataset(
    model: str | Path,
    data: str | Path | Sequence[str | Path] | WorkList,
    out: str | Path,
    options: Options | None = None,
    *,
    engine: Engine | None = None,
    rows: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    advance: Advance = lambda count, resumed: None,
) -> DatasetOutcome:
    """Explain the rows of Parquet files with a saved estimator, and write a folder with a row of results for each.

    The unit of work is a row group of a file; its results are one Parquet file, `FILE-GROUP.parquet` with both numbers.
    Results do not depend on the engine or on the number of its workers. The column `row` has the number of the row
    among the rows of all files, in the order of their names.

    Args:
        model: a folder that `save` of an estimator wrote, or its URL.
        data: a file, a folder, a URL, a pattern such as "data/*.parquet", several of these, or a work list.
        out: the folder of results, or its URL.
        options: what is computed; the defaults of `Options` if None.
        engine: `Local()` if None, or `Ray(...)`.
        rows: explain the first rows only; all if None.
        resume: continue a run that was stopped; its finished parts are not repeated.
        overwrite: replace the results of an earlier run.
        advance: called for each finished unit, with its number of rows and whether an earlier run had finished it.

    Raises:
        ValueError, OSError, ImportError: with what was expected, what was got, and what to do. Finished parts stay.

    Returns:
        The DatasetOutcome: the numbers of rows, parts, errors, and rows per second.

    Example:
        >>> from pathlib import Path
        >>> from gplens.scale import explain_dataset
        >>> folder = Path(tempfile.mkdtemp())
        >>> frame.to_parquet(folder / "rows.parquet")
        >>> outcome = explain_dataset(saved, folder / "*.parquet", folder / "attributions")
        >>> outcome.rows, outcome.errors
        (5, 0)
    """
    folder, options = RunFolder(Place.of(out)), Options() if options is None else options
    folder.check(resume=resume, overwrite=overwrite)
    work = (data if isinstance(data, WorkList) else read_work_list(data)).first_rows(rows)
    source = Place.of(model)
    with local_copy(source) as copy:
        task = UnitTask(source, fingerprint_of(copy), options, folder.place)
    work.check_columns(task.columns)
    engine = engine or Local()
    engine.check()
    folder.begin(_manifest(task, work, rows), resume=resume, overwrite=overwrite)
    finished = folder.finished(work.units) if resume else {}
    resumed = sum(record.rows for record in finished.values())
    advance(resumed, True)
    began = monotonic()
    for record in engine.run(task, [unit for unit in work.units if unit.name not in finished]):
        advance(record.rows, False)
    seconds, records = monotonic() - began, folder.check_complete(work.units).values()
    errors, unmet = sum(record.errors for record in records), sum(record.not_converged for record in records)
    return DatasetOutcome(work.rows, len(records), resumed, errors, unmet, seconds)


def _manifest(task: UnitTask, work: WorkList, rows: int | None) -> dict[str, Any]:
    return {
        "gplens": VERSION,
        "model": task.fingerprint,
        "options": task.options.settings(),
        "input": work.identities(),
        "rows": rows,
        "piece": PIECE,
        "step": STEP,
    }
