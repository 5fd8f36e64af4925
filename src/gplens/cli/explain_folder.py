"""`gplens explain` of many Parquet files: a folder of attributions, on this machine or on a Ray cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gplens.cli.console import progress_in_rows, rounded, say
from gplens.cli.explain_command import Wanted, say_counts, stopped
from gplens.cli.interruption import InterruptedRunError

if TYPE_CHECKING:
    from gplens.scale import Engine, WorkList

FILES = (".csv", ".parquet", ".pq")


def is_dataset(data: str, out: str, engine: str) -> bool:
    """Whether the input may be many files, or the output has to be a folder."""
    return (
        engine == "ray"
        or "://" in data + out
        or any(c in data for c in "*?[")
        or Path(data).is_dir()
        or out[-1:] == "/"
    )


def chosen_engine(name: str, *, address: str | None, workers: int | None, cpus: int) -> "Engine":
    """The engine of a name, after a check that its options are those of Ray."""
    from gplens.scale import Local, Ray

    if name == "ray":
        return Ray(address, workers, cpus)
    if address is not None or workers is not None or cpus != 1:
        raise ValueError("expected --address, --workers and --cpus with --engine ray only; add it, or leave them out.")
    return Local()


def explain_folder(
    model: str, data: str, out: str, wanted: Wanted, *, engine: "Engine", resume: bool, overwrite: bool
) -> None:
    """Explain all rows of Parquet files, and write a folder."""
    from gplens.scale import explain_dataset, read_work_list

    if out.lower().endswith(FILES):
        raise ValueError(f"expected --out as a folder, since the input is divided among files, got {out}.")
    work = read_work_list(data)
    options = wanted.options(_baseline(wanted.baseline, model, work))
    total = work.rows if wanted.rows is None else min(wanted.rows, work.rows)
    with progress_in_rows("explaining", total) as progress:
        try:
            outcome = explain_dataset(
                model,
                work,
                out,
                options,
                engine=engine,
                rows=wanted.rows,
                resume=resume,
                overwrite=overwrite,
                advance=progress.advance,
            )
        except KeyboardInterrupt:
            words = _words(engine)
            raise InterruptedRunError(stopped(progress.done, [model, data], out, wanted, *words)) from None
    say(f"{out}: {outcome.rows:,} rows in {outcome.parts:,} parts, {rounded(outcome.rate)} rows per second")
    say_counts(outcome)


def _baseline(name: str, model: str, work: "WorkList") -> Any:
    """A name as it is, and row:17 as the row with this number."""
    kind, _, number = name.partition(":")
    if kind != "row":
        return name
    if not number.isdigit():
        raise ValueError(f"expected the number of a row, such as row:17, got {name!r}.")
    from gplens.batch.explainer import check_names
    from gplens.estimators import load
    from gplens.scale.places import Place
    from gplens.scale.unit_task import local_copy

    with local_copy(Place.of(model)) as folder:
        names = load(folder).columns_.names
    return work.row(int(number), check_names(names, work.names))


def _words(engine: "Engine") -> list[str]:
    """An engine as it is typed."""
    from gplens.scale import Ray

    if not isinstance(engine, Ray):
        return []
    address = [] if engine.address is None else ["--address", engine.address]
    workers = [] if engine.workers is None else ["--workers", str(engine.workers)]
    return ["--engine", "ray", *address, *workers, *([] if engine.cpus == 1 else ["--cpus", str(engine.cpus)])]
