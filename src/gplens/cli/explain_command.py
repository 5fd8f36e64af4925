"""`gplens explain MODEL DATA --out FILE`: attributions of every row of a file, however long it is."""

from collections.abc import Sequence
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gplens.cli.console import progress_in_rows, say
from gplens.cli.interruption import InterruptedRunError

if TYPE_CHECKING:
    from gplens.batch import Options

EPILOG = """Examples:

    gplens explain model bikes.csv --out attributions.parquet

    gplens explain model bikes.csv --baseline row:1 --uncertainty --out attributions.csv

    gplens explain model bikes.parquet --target exceeds:200 --keep id --out busy.parquet

A run that was stopped goes on with the same line and `--resume`.
"""
BASELINE = "mean, zeros, background, or row:NUMBER for a row of DATA, the first being 0."
TARGET = "response, latent, epistemic, predictive, or exceeds:THRESHOLD."


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain", epilog=EPILOG)(explain)


def explain(
    model: Annotated[Path, typer.Argument(help="Folder that `gplens fit` or save() of an estimator wrote.")],
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file with the columns of the model, and any others.")],
    out: Annotated[Path, typer.Option(help="File of attributions to write: .parquet or .csv.")],
    baseline: Annotated[str, typer.Option(help=f"What attributions are relative to: {BASELINE}")] = "mean",
    target: Annotated[str, typer.Option(help=f"What is explained: {TARGET}")] = "response",
    outputs: Annotated[
        str | None, typer.Option(help="Classes to explain, separated by commas; all if left out.")
    ] = None,
    uncertainty: Annotated[
        bool, typer.Option("--uncertainty", help="Add the standard deviation of every attribution.")
    ] = False,
    tolerance: Annotated[
        float | None, typer.Option(help="Relative error of the attributions; 1e-6 if left out.")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Columns of DATA to copy to the output, separated by commas.")
    ] = None,
    rows: Annotated[int | None, typer.Option(min=1, help="Explain the first rows only.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that exists.")] = False,
) -> None:
    """Explain every row of DATA with MODEL, and write one row of attributions for each.

    The file is read piece by piece, so that it may be larger than memory. The output appears when it is complete; until
    then finished pieces are in the folder OUT.parts. A row that cannot be explained has its reason in the column error.
    """
    from gplens.batch import Options, explain_file
    from gplens.batch.local_engine import parts_folder
    from gplens.batch.sources import Source

    options = Options(
        baseline=named_baseline(baseline, model, data),
        target=target,
        outputs=split(outputs),
        uncertainty=uncertainty,
        tolerance=tolerance,
        keep=split(keep) or (),
    )
    total = Source(data).rows()
    with progress_in_rows("explaining", total if rows is None else min(rows, total)) as progress:
        try:
            outcome = explain_file(
                model, data, out, options, rows=rows, resume=resume, overwrite=overwrite, advance=progress.advance
            )
        except KeyboardInterrupt:
            raise InterruptedRunError(_stopped(progress.done, model, data, out, options, baseline, rows)) from None
        except OSError as cause:
            if not parts_folder(out).exists() or isinstance(cause, FileExistsError | BlockingIOError):
                raise
            remedy = f"Finished pieces are kept in {parts_folder(out)}; add --resume to go on with them."
            raise OSError(f"{cause}. {remedy}") from cause
    say(f"{out}: {outcome.rows:,} rows, {progress.rate:,.0f} rows per second")
    if outcome.resumed:
        say(f"{outcome.resumed:,} of them were done by the run before.")
    if outcome.errors:
        say(f"{outcome.errors:,} rows could not be explained; the column error has the reasons.")
    if outcome.not_converged:
        say(f"{outcome.not_converged:,} rows missed the tolerance; they are false in the column converged.")


def split(names: str | None) -> tuple[str, ...] | None:
    """Names that are separated by commas."""
    return None if names is None else tuple(name.strip() for name in names.split(",") if name.strip())


def named_baseline(name: str, model: Path, data: Path) -> Any:
    """A name as it is, and row:17 as the row of the data with this number."""
    kind, _, number = name.partition(":")
    if kind != "row":
        return name
    if not number.isdigit():
        raise ValueError(f"expected the number of a row, such as row:17, got {name!r}.")
    from gplens.batch.column_types import types_of
    from gplens.batch.explainer import check_names
    from gplens.batch.sources import Source, row_of
    from gplens.estimators import load

    plan, source = load(model).columns_, Source(data)
    return row_of(source, int(number), check_names(plan.names, source.names), types_of(plan))


def _stopped(done: int, model: Path, data: Path, out: Path, options: "Options", baseline: str, rows: int | None) -> str:
    """What to say after Ctrl-C: the line that goes on."""
    words: Sequence[str] = ["gplens", "explain", str(model), str(data), "--out", str(out), "--baseline", baseline]
    words = [*words, *([] if options.target == "response" else ["--target", options.target])]
    words = [*words, *([] if options.outputs is None else ["--outputs", ",".join(options.outputs)])]
    words = [*words, *(["--uncertainty"] if options.uncertainty else [])]
    words = [*words, *([] if options.tolerance is None else ["--tolerance", f"{options.tolerance:g}"])]
    words = [*words, *(["--keep", ",".join(options.keep)] if options.keep else [])]
    words = [*words, *([] if rows is None else ["--rows", str(rows)]), "--resume"]
    return f"interrupted after {done:,} rows; finished pieces are kept. Go on with: {join(words)}"
