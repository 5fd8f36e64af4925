"""`gplens fit DATA --target COLUMN --out FOLDER`: from a table to a saved model."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from gplens.cli.chosen_model import Chosen
from gplens.cli.console import remark, say
from gplens.cli.interruption import interruptible, sentence
from gplens.cli.shared_arguments import FLAG, CPUs, EngineName, LikelihoodName

EPILOG = """Examples:

    gplens fit bikes.csv --target count --out model

    gplens fit bikes.csv --target count --columns hour=cyclic:24 --drop date --out model

    gplens fit iris.parquet --target species --likelihood classes --out model --overwrite

    gplens fit "data/*.parquet" --target count --out model --engine ray --workers 8
"""
KINDS = "number, log, log:PLUS, boolean, category, cyclic:PERIOD, datetime, time, drop"


def add(app: typer.Typer) -> None:
    """Add `gplens fit` to the application."""
    app.command("fit", epilog=EPILOG)(interruptible(fit))


def fit(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="CSV or Parquet file; with --engine ray also a folder, pattern or URL of Parquet."
        ),
    ],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the model.")],
    likelihood: Annotated[LikelihoodName | None, typer.Option(help="Chosen from the target if left out.")] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=KIND", help=f"What a column is, may be repeated. Kinds: {KINDS}."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out; may be repeated.")
    ] = None,
    holdout: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=0.9, help="Rows that are held out for the score.")
    ] = 0.2,
    inducing_points: Annotated[
        int | None, typer.Option(metavar="NUMBER", min=1, help="Size of a sparse model; the estimator's if left out.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.0, help="Seconds that the fit may take.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Seed of the split and of the fit.")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", metavar=FLAG, help="Replace the model of an earlier fit.")
    ] = False,
    engine: Annotated[
        EngineName, typer.Option(help="This machine, or a cluster of Ray, whose workers train one sparse model.")
    ] = EngineName.local,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Ray cluster: auto or HOST:PORT; this machine if left out.")
    ] = None,
    workers: Annotated[int | None, typer.Option(metavar="NUMBER", min=1, help="Workers of Ray; 2 if left out.")] = None,
    cpus: CPUs = 1,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="PLACE", help="Folder or URL for checkpoints of Ray's workers; OUT.training if left out."),
    ] = None,
) -> None:
    """Fit a Gaussian process to the columns of DATA and save it.

    Texts, categories, dates and missing values go in as they are. The score is that of the saved model, on rows that it
    was not fitted to. With --engine ray, a fit that was killed goes on from its last checkpoint with the same line.
    """
    from gplens.cli.explain_folder import chosen_engine
    from gplens.cli.fit_folder import fit_folder

    check_folder(out, overwrite=overwrite)
    cluster = chosen_engine(engine, address=address, workers=workers, cpus=cpus)
    model = Chosen(target, likelihood, tuple(columns or ()), tuple(drop or ()), inducing_points, seed)
    if engine == "ray":
        place = checkpoint or f"{out}.training"
        fit_folder(data, out, model, cluster, checkpoint=place, holdout=holdout, budget=budget)
        return
    if checkpoint is not None:
        raise ValueError("expected --checkpoint with --engine ray only; add it, or leave --checkpoint out.")
    _fit_one(Path(data), out, model, holdout=holdout, budget=budget)


def _fit_one(data: Path, out: Path, model: Chosen, *, holdout: float, budget: float | None) -> None:
    """Fit to one file on this machine."""
    from gplens.batch.sources import Source

    source = Source(data)
    names = model.features(source.names)
    whole = source.whole().select([*names, model.target])
    model.check_numbers(whole)
    table = _with_target(whole, model.target)
    estimator, score_name = model.estimator(table)
    train, test = _split(table, holdout, model.seed)
    remark(f"fitting {type(estimator).__name__} to {train.num_rows:,} rows and {len(names)} columns ...")
    estimator.fit(train.select(names), _values(train[model.target]), budget=budget)
    finish(estimator, test, model, score_name, out, f"{data} --out attributions.parquet")


def finish(estimator: Any, test: Any, model: Chosen, score_name: str, out: Path, following: str) -> None:
    """Print the score on rows that were held out, save the model, and say what to type next."""
    if test.num_rows:
        names = [name for name in test.column_names if name != model.target]
        score = estimator.score(test.select(names), _values(test[model.target]))
        say(f"score on {test.num_rows:,} rows held out: {score:.3f} ({score_name})")
    _save(estimator, out)
    say(f"{out}: {type(estimator).__name__}; explain it with: gplens explain {out} {following}")


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that must not be replaced, or could not be written. Called before the work."""
    from gplens.batch.output import check_folder_of
    from gplens.estimators.saving import JSON

    if folder.is_dir() and any(folder.iterdir()):
        if not overwrite:
            raise FileExistsError(f"expected a new folder, got {folder}, which exists; add --overwrite to replace it.")
        if not (folder / JSON).is_file():
            raise FileExistsError(f"expected the folder of a model, got {folder}, which has no {JSON}; choose another.")
    elif folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"expected the name of a folder, got {folder}, which is a file; choose another --out.")
    check_folder_of(folder / JSON if folder.is_dir() else folder)


def _with_target(table: Any, target: str) -> Any:
    """The rows that have a target, and a remark about the others."""
    if table.num_rows == 0:
        raise ValueError("expected a table with at least one row, got none.")
    present = table[target].is_valid()
    kept = table.filter(present)
    if missing := table.num_rows - kept.num_rows:
        remark(f"{missing:,} of {table.num_rows:,} rows have no {target!r} and are left out.")
    if kept.num_rows == 0:
        raise ValueError(f"expected a column {target!r} with entries, got none.")
    return kept


def _split(table: Any, holdout: float, seed: int) -> tuple[Any, Any]:
    """Rows to fit and rows to score, at random, each in the order of the table."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(table.num_rows)
    held = round(holdout * table.num_rows)
    return table.take(np.sort(order[held:])), table.take(np.sort(order[:held]))


def _values(column: Any) -> Any:
    return column.to_numpy()


def _save(estimator: Any, out: Path) -> None:
    """Save the model; where that fails, in a temporary folder, which the message names."""
    try:
        estimator.save(out)
    except OSError as cause:
        rescue = Path(tempfile.mkdtemp(prefix="gplens-model-"))
        estimator.save(rescue)
        raise OSError(
            f"{sentence(cause)}. The model was saved in {rescue} instead; move it where it belongs."
        ) from cause
