"""`gplens page MODEL DATA --out PAGE`: one HTML file with a report and a live what-if."""

from pathlib import Path
from typing import Annotated

import typer

from gplens.cli.console import say
from gplens.cli.interruption import interruptible
from gplens.cli.shared_arguments import BASELINE, FLAG, DataFile, ModelFolder, named_baseline

EPILOG = """Examples:

    gplens page model bikes.csv --out page.html

    gplens page model bikes.csv --observed count --rows 500 --title "Bikes, hour by hour" --out page.html
"""
BEHIND_SLIDERS = 10_000
"""The most rows of a file, evenly spaced, that are used for histograms and for the report."""


def add(app: typer.Typer) -> None:
    """Add `gplens page` to the application."""
    app.command("page", epilog=EPILOG)(interruptible(page))


def page(
    model: ModelFolder,
    data: DataFile,
    out: Annotated[Path, typer.Option(metavar="PAGE", help="Page to write: .html.")],
    observed: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of DATA with what was observed, to sort rows by their errors."),
    ] = None,
    rows: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="The most rows of the report.")] = 200,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="BASELINE", help=f"What attributions are relative to: {BASELINE} A typical row if left out."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TITLE", help="Title of the page.")] = None,
    uncertainty: Annotated[bool, typer.Option(metavar=FLAG, help="Compute the error bars of the report.")] = True,
    overwrite: Annotated[bool, typer.Option("--overwrite", metavar=FLAG, help="Replace a page that exists.")] = False,
) -> None:
    """Write one file that opens in any browser, without a server or a network: a report, and sliders that answer."""
    from gplens import Diagonal
    from gplens.batch.batch_options import baseline_of
    from gplens.batch.output import check_folder_of
    from gplens.batch.sources import Source
    from gplens.cli.model_tables import spaced_column, spaced_rows
    from gplens.estimators import load

    if out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"expected --out with a name that ends in .html, got {out}.")
    check_folder_of(out)
    if out.exists() and not overwrite:
        raise FileExistsError(
            f"expected a new file, got {out}, which exists; choose another --out, or add --overwrite."
        )
    estimator = load(model)
    table = spaced_rows(estimator, data, BEHIND_SLIDERS)
    total = table.num_rows if table.num_rows < BEHIND_SLIDERS else Source(data).rows()
    written = estimator.page(
        table,
        out,
        targets=None if observed is None else spaced_column(data, observed, BEHIND_SLIDERS),
        baseline=None if baseline is None else baseline_of(named_baseline(baseline, model, data), estimator),
        uncertainty=Diagonal() if uncertainty else None,
        rows=rows,
        title=title,
        total=total,
    )
    say(f"{written}: {written.stat().st_size / 1e6:.1f} MB")
