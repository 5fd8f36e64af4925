"""`gplens explain MODEL DATA --out FILE`: attributions of every row of a file, however long it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from gplens.cli.console import progress_in_rows, rounded, say
from gplens.cli.interruption import InterruptedRunError, sentence
from gplens.cli.shared_arguments import FLAG, BaselineName, CPUs, EngineName, TargetName, named_baseline

if TYPE_CHECKING:
    from gplens.batch import Options

EPILOG = """Examples:

    gplens explain model bikes.csv --out attributions.parquet

    gplens explain model bikes.csv --baseline row:1 --uncertainty --out attributions.csv

    gplens explain model bikes.parquet --target exceeds:200 --keep id --out busy.parquet

    gplens explain model "data/*.parquet" --out attributions/ --engine ray --address auto

A run that was stopped goes on with the same line and `--resume`.
"""


def add(app: typer.Typer) -> None:
    """Add `gplens explain` to the application."""
    app.command("explain", epilog=EPILOG)(explain)


def explain(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Folder that `gplens fit` or save() of an estimator wrote.")
    ],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="CSV or Parquet file with the columns of the model; or a folder, pattern or URL of Parquet.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(metavar="OUT", help="File of attributions to write, .parquet or .csv; a folder for many files."),
    ],
    baseline: BaselineName = "mean",
    target: TargetName = "response",
    outputs: Annotated[
        str | None, typer.Option(metavar="CLASSES", help="Classes to explain, separated by commas; all if left out.")
    ] = None,
    uncertainty: Annotated[
        bool, typer.Option("--uncertainty", metavar=FLAG, help="Add the standard deviation of every attribution.")
    ] = False,
    tolerance: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Relative error of the attributions; 1e-6 if left out.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="Columns of DATA to copy to the output, separated by commas.")
    ] = None,
    rows: Annotated[int | None, typer.Option(metavar="NUMBER", min=1, help="Explain the first rows only.")] = None,
    resume: Annotated[bool, typer.Option("--resume", metavar=FLAG, help="Go on with a run that was stopped.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", metavar=FLAG, help="Replace an output that exists.")
    ] = False,
    engine: Annotated[EngineName, typer.Option(help="This machine, or a cluster of Ray.")] = EngineName.local,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Ray cluster: auto, HOST:PORT, ray://HOST:PORT; this machine if left out."
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=1, help="Workers of Ray; one for each CPU if left out.")
    ] = None,
    cpus: CPUs = 1,
) -> None:
    """Explain every row of DATA with MODEL, and write one row of attributions for each.

    A file is read piece by piece, so that it may be larger than memory. The output appears when it is complete; until
    then finished pieces are in the folder OUT.parts. A row that cannot be explained has its reason in the column error.
    Of a folder, a pattern or a URL, or with --engine ray, OUT is a folder with a file for each row group of the input.
    """
    from gplens.cli.explain_folder import chosen_engine, explain_folder, is_dataset

    chosen = chosen_engine(engine, address=address, workers=workers, cpus=cpus)
    wanted = Wanted(baseline, target, split(outputs), uncertainty, tolerance, split(keep) or (), rows)
    if is_dataset(data, out, engine):
        explain_folder(model, data, out, wanted, engine=chosen, resume=resume, overwrite=overwrite)
    else:
        _explain_one(Path(model), Path(data), Path(out), wanted, resume=resume, overwrite=overwrite)


@final
@dataclass(frozen=True)
class Wanted:
    """The options of the command that do not depend on the files."""

    baseline: str
    target: str
    outputs: tuple[str, ...] | None
    uncertainty: bool
    tolerance: float | None
    keep: tuple[str, ...]
    rows: int | None

    def options(self, baseline: Any) -> "Options":
        """The options of every batch, given the baseline that was named."""
        from gplens.batch import Options

        chosen = {"target": self.target, "outputs": self.outputs, "uncertainty": self.uncertainty}
        return Options(baseline=baseline, tolerance=self.tolerance, keep=self.keep, **chosen)  # type: ignore[arg-type]

    def words(self) -> list[str]:
        """The options as they are typed."""
        pairs = {"--target": None if self.target == "response" else self.target}
        pairs |= {"--outputs": None if self.outputs is None else ",".join(self.outputs)}
        pairs |= {"--tolerance": None if self.tolerance is None else f"{self.tolerance:g}"}
        pairs |= {"--keep": ",".join(self.keep) or None, "--rows": None if self.rows is None else str(self.rows)}
        given = [word for name, value in pairs.items() if value is not None for word in (name, value)]
        return ["--baseline", self.baseline, *given, *(["--uncertainty"] if self.uncertainty else [])]


def _explain_one(model: Path, data: Path, out: Path, wanted: Wanted, *, resume: bool, overwrite: bool) -> None:
    """One file in, one file out."""
    from gplens.batch import explain_file
    from gplens.batch.local_engine import parts_folder
    from gplens.batch.sources import Source

    options, rows = wanted.options(named_baseline(wanted.baseline, model, data)), wanted.rows
    total = Source(data).rows()
    with progress_in_rows("explaining", total if rows is None else min(rows, total)) as progress:
        try:
            outcome = explain_file(
                model, data, out, options, rows=rows, resume=resume, overwrite=overwrite, advance=progress.advance
            )
        except KeyboardInterrupt:
            raise InterruptedRunError(stopped(progress.done, [str(model), str(data)], str(out), wanted)) from None
        except OSError as cause:
            if not parts_folder(out).exists() or isinstance(cause, FileExistsError | BlockingIOError):
                raise
            remedy = f"Finished pieces are kept in {parts_folder(out)}; add --resume to go on with them."
            raise OSError(f"{sentence(cause)}. {remedy}") from cause
    say(f"{out}: {outcome.rows:,} rows, {rounded(progress.rate)} rows per second")
    say_counts(outcome)


def say_counts(outcome: Any) -> None:
    """Print how many rows were done before, could not be explained, or missed the tolerance."""
    if outcome.resumed:
        say(f"{outcome.resumed:,} of them were done by the run before.")
    if outcome.errors:
        say(f"{outcome.errors:,} rows could not be explained; the column error has the reasons.")
    if outcome.not_converged:
        say(f"{outcome.not_converged:,} rows missed the tolerance; they are false in the column converged.")


def split(names: str | None) -> tuple[str, ...] | None:
    """Names that are separated by commas."""
    return None if names is None else tuple(name.strip() for name in names.split(",") if name.strip())


def stopped(done: int, arguments: Sequence[str], out: str, wanted: Wanted, *further: str) -> str:
    """The message after Ctrl-C, with the command that continues the run."""
    line = join(["gplens", "explain", *arguments, "--out", out, *wanted.words(), *further, "--resume"])
    return f"interrupted after {done:,} rows; finished pieces are kept. Go on with: {line}"
