"""`gplens verify MODEL DATA`: is the explanation of this model right?"""

from typing import Annotated

import typer

from gplens.cli.console import show_table
from gplens.cli.interruption import interruptible
from gplens.cli.shared_arguments import BaselineName, DataFile, ModelFolder, named_baseline

EPILOG = """Examples:

    gplens verify model bikes.csv

    gplens verify model bikes.csv --baseline row:1 --rows 10 --draws 20000

In Python, for a model of any library: `print(gplens.verify(model, X, baseline=...))`.
"""


def add(app: typer.Typer) -> None:
    """Add `gplens verify` to the application."""
    app.command("verify", epilog=EPILOG)(interruptible(verify))


def verify(
    model: ModelFolder,
    data: DataFile,
    baseline: BaselineName = "mean",
    rows: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="How many rows of DATA, evenly spaced.")] = 4,
    draws: Annotated[
        int, typer.Option(metavar="NUMBER", min=100, help="Draws of the model's latent functions.")
    ] = 4000,
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Seed of the draws.")] = 0,
) -> None:
    """Check explanations of MODEL by means that share nothing with their computation.

    Completeness, antisymmetry, central differences of the model's own predictions, the second completeness law, and
    draws of its latent functions. The exit code is 1 if a check fails.
    """
    from gplens.batch.batch_options import Options, baseline_of
    from gplens.cli.model_tables import spaced_rows
    from gplens.estimators import load
    from gplens.verification import verify as check

    options = Options(baseline=named_baseline(baseline, model, data))
    estimator = load(model)
    table = spaced_rows(estimator, data, rows)
    verification = check(
        estimator, table, baseline=baseline_of(options.baseline, estimator), rows=rows, draws=draws, seed=seed
    )
    header = ("check", "result", "difference", "limit", "what was compared")
    show_table(verification.title, header, [check.row for check in verification.checks])
    if not verification:
        raise typer.Exit(1)
