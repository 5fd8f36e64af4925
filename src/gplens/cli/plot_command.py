"""`gplens plot MODEL DATA --out PICTURE`, or `gplens plot ATTRIBUTIONS`: a picture of one row, or of many."""

from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import typer

from gplens.cli.console import say
from gplens.cli.interruption import interruptible
from gplens.cli.shared_arguments import FLAG, BaselineName, PlotKind, TargetName, named_baseline

EPILOG = """Examples:

    gplens plot model bikes.csv --row 3 --out picture.png

    gplens plot model bikes.csv --kind beeswarm --rows 200 --out all.png

    gplens plot model bikes.csv --kind scatter --feature hour --colour-by working_day --out hour.svg

    gplens plot model bikes.csv --kind path --row 3 --baseline row:1 --unit bikes --out path.png

    gplens plot attributions.parquet bikes.csv --kind beeswarm --out all.png
"""
ENDINGS = (".png", ".svg", ".pdf")
ONE_ROW = ("waterfall", "path", "uncertainty")
NEED_MODEL = ("path", "ablation", "uncertainty")


def add(app: typer.Typer) -> None:
    """Add `gplens plot` to the application."""
    app.command("plot", epilog=EPILOG)(interruptible(plot))


def plot(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="Folder of a model, or a file of attributions that `gplens explain` wrote."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="PICTURE", help=f"Picture to write: {', '.join(ENDINGS)}.")],
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="CSV or Parquet file with the columns of the model."),
    ] = None,
    kind: Annotated[
        PlotKind,
        typer.Option(
            metavar="KIND", help=f"{', '.join(PlotKind)}; auto is a waterfall of one row, a beeswarm or bars of many."
        ),
    ] = PlotKind.auto,
    row: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=0, help="The row of DATA, the first being 0.")
    ] = None,
    rows: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="How many rows, evenly spaced, where no row is given.")
    ] = 200,
    baseline: BaselineName = "mean",
    target: TargetName = "response",
    output: Annotated[str | None, typer.Option(metavar="CLASS", help="The class, for a model of several.")] = None,
    feature: Annotated[str | None, typer.Option(metavar="COLUMN", help="With --kind scatter: the feature.")] = None,
    colour_by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --kind scatter: the feature that colours the marks.")
    ] = None,
    unit: Annotated[str, typer.Option(metavar="UNIT", help="Unit of the prediction, for the axis.")] = "",
    uncertainty: Annotated[bool, typer.Option(metavar=FLAG, help="Draw error bars.")] = True,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", metavar=FLAG, help="Replace a picture that exists.")
    ] = False,
) -> None:
    """Draw attributions with their error bars, as gplens.plots does."""
    check_picture(out, overwrite=overwrite)
    chosen = kind.value
    if chosen in ONE_ROW and row is None:
        raise typer.BadParameter(f"--kind {chosen} draws one row: add --row NUMBER.")
    if (chosen == "scatter") != (feature is not None):
        raise typer.BadParameter("--kind scatter and --feature NAME go together.")
    if model.is_file():
        explanation, explained = _attributions(chosen, model, data, row, rows, output, uncertainty=uncertainty), None
    elif data is None:
        raise typer.BadParameter("a model needs the file of the rows to draw: gplens plot MODEL DATA --out PICTURE.")
    else:
        target = "epistemic" if chosen == "uncertainty" else target
        explanation, explained = _explained(
            chosen, model, data, row, rows, baseline, target, output, uncertainty=uncertainty
        )
    axes = _drawn(chosen, explanation, explained, feature, colour_by, unit, target)
    from gplens.explanation.storage import write
    from gplens.plots.canvas import root_figure

    picture = BytesIO()
    root_figure(axes).savefig(picture, format=out.suffix[1:].lower(), dpi=150)
    write(out, picture.getvalue())
    say(f"{out}")


def _attributions(
    kind: str, path: Path, data: Path | None, row: int | None, rows: int, output: str | None, *, uncertainty: bool
) -> Any:
    """Draw a file of attributions."""
    from dataclasses import replace

    from gplens.batch.attribution_file import read_attributions

    if kind in NEED_MODEL:
        raise typer.BadParameter(f"--kind {kind} evaluates the model: name its folder in place of {path}.")
    explanation = read_attributions(path, data=data, row=row, rows=rows, output=output)
    if kind == "scatter" and bool(explanation.inputs.isnan().all()):
        raise typer.BadParameter(f"--kind scatter needs the values of the columns: gplens plot {path} DATA ...")
    return explanation if uncertainty else replace(explanation, spread=None)


def _explained(
    kind: str,
    model: Path,
    data: Path,
    row: int | None,
    rows: int,
    baseline: str,
    target: str,
    output: str | None,
    *,
    uncertainty: bool,
) -> tuple[Any, Any]:
    """Rows explained by a model, and what evaluates it along a path."""
    from gplens.batch.batch_options import Options, baseline_of, outputs_of, target_of
    from gplens.cli.model_tables import explain_inputs, one_row, spaced_rows
    from gplens.estimators import load

    options = Options(baseline=named_baseline(baseline, model, data), target=target)
    estimator = load(model)
    wanted = None if output is None else outputs_of((output,), estimator)
    table = spaced_rows(estimator, data, rows) if row is None else one_row(estimator, data, row)
    relative_to = baseline_of(options.baseline, estimator)
    if kind == "path" and estimator.encoder is not None:
        reading, explanation = explain_inputs(estimator, table, relative_to, target_of(target), wanted)
        return explanation, reading
    request = _request(kind, single_row=row is not None) if uncertainty and kind != "uncertainty" else None
    explanation = estimator.explain(
        table, baseline=relative_to, target=target_of(target), outputs=wanted, uncertainty=request
    )
    return explanation, estimator


def check_picture(path: Path, *, overwrite: bool) -> None:
    """Refuse a picture that exists, or that could not be written. Called before the work."""
    from gplens.batch.output import check_folder_of

    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"expected --out with a name that ends in {', '.join(ENDINGS)}, got {path}.")
    check_folder_of(path)
    if path.exists() and not overwrite:
        raise FileExistsError(
            f"expected a new file, got {path}, which exists; choose another --out, or add --overwrite."
        )


def _request(kind: str, *, single_row: bool) -> Any:
    import gplens

    if kind == "bar" or (kind == "auto" and not single_row):
        return gplens.Full()  # bars are means over rows
    return gplens.Samples(1000, seed=0, joint=True) if single_row else gplens.Diagonal()


def _drawn(
    kind: str, explanation: Any, model: Any, feature: str | None, colour_by: str | None, unit: str, target: str
) -> Any:
    from gplens import plots
    from gplens.batch.batch_options import target_of

    if kind == "auto":
        return plots.draw(explanation, unit=unit)
    if kind in ("path", "ablation"):
        return getattr(plots, kind)(explanation, model, unit=unit, target=target_of(target))
    if kind == "scatter" and feature is not None:
        return plots.scatter(explanation, feature, colour_by=colour_by, unit=unit)
    return getattr(plots, kind)(explanation, unit=unit)
