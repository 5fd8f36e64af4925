"""`gplens fit DATA --target COLUMN --out FOLDER`: from a table to a saved model."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from gplens.cli.column_settings import columns_of
from gplens.cli.console import remark, say
from gplens.cli.interruption import interruptible

EPILOG = """Examples:

    gplens fit bikes.csv --target count --out model

    gplens fit bikes.csv --target count --columns hour=cyclic:24 --columns month=cyclic:12 --drop date --out model

    gplens fit iris.parquet --target species --likelihood classes --out model --overwrite
"""
KINDS = "number, log, log:PLUS, boolean, category, cyclic:PERIOD, datetime, time, drop"
MOSTLY = 0.9
"""A column of texts of which at least this share are numbers is taken for one of numbers with mistakes in it."""


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fit", epilog=EPILOG)(interruptible(fit))


def fit(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file.")],
    target: Annotated[str, typer.Option(help="The column to predict.")],
    out: Annotated[Path, typer.Option(help="Folder for the model.")],
    likelihood: Annotated[
        str | None, typer.Option(help="gaussian, counts or classes; chosen from the target if left out.")
    ] = None,
    columns: Annotated[list[str] | None, typer.Option(help=f"COLUMN=KIND, may be repeated: {KINDS}.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")] = None,
    holdout: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of the rows that is held out for the score.")
    ] = 0.2,
    inducing_points: Annotated[
        int | None, typer.Option(min=1, help="Size of a sparse model; that of the estimator if left out.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and of the fit.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model of an earlier fit.")] = False,
) -> None:
    """Fit a Gaussian process to the columns of DATA and save it.

    Texts, categories, dates and missing values go in as they are. The score is that of the saved model, on rows that it
    was not fitted to.
    """
    from gplens.batch.sources import Source
    from gplens.cli.likelihood_choice import SCORES, choose

    check_folder(out, overwrite=overwrite)
    source = Source(data)
    dropped = set(drop or ())
    for name in (target, *dropped):
        if name not in source.names:
            raise ValueError(f"expected a column of {list(source.names)}, got {name!r}.")
    names = [name for name in source.names if name != target and name not in dropped]
    kinds = columns_of(columns or (), names)
    table = source.whole()
    table = _with_target(table.select([*names, target]), target)
    _check_numbers(table, [name for name in names if name not in kinds])
    choice = choose(table[target])
    if likelihood is not None and likelihood not in SCORES:
        raise ValueError(f"expected a likelihood of {list(SCORES)}, got {likelihood!r}.")
    chosen = likelihood or choice.likelihood
    if likelihood is None:
        say(f"likelihood: {chosen}, because {choice.reason}; --likelihood decides otherwise.")
    size = {} if inducing_points is None else {"inducing_points": inducing_points}
    estimator = _estimator(chosen, columns=kinds or None, random_state=seed, **size)
    train, test = _split(table, holdout, seed)
    remark(f"fitting {type(estimator).__name__} to {train.num_rows:,} rows and {len(names)} columns ...")
    estimator.fit(train.select(names), _values(train[target]))
    if test.num_rows:
        score = estimator.score(test.select(names), _values(test[target]))
        say(f"score on {test.num_rows:,} rows held out: {score:.3f} ({SCORES[chosen]})")
    _save(estimator, out)
    say(f"{out}: {type(estimator).__name__}; explain it with: gplens explain {out} {data} --out attributions.parquet")


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


def _check_numbers(table: Any, names: list[str]) -> None:
    """Refuse a text in a column of numbers, with its row."""
    from pyarrow import types

    for name in names:
        if not types.is_string(table[name].type):
            continue
        entries = [(row, text) for row, text in enumerate(table[name].to_pylist()) if text is not None]
        texts = [(row, text) for row, text in entries if not _is_number(text)]
        if texts and len(texts) <= (1 - MOSTLY) * len(entries):
            row, text = texts[0]
            raise ValueError(
                f"expected numbers in column {name!r}, as in {len(entries) - len(texts):,} of its {len(entries):,} "
                f"entries, got {text!r} in row {row} (the first row is 0); correct it, or add --columns "
                f"{name}=category."
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _estimator(likelihood: str, **options: Any) -> Any:
    from gplens.estimators import GPClassifier, GPCountRegressor, GPRegressor

    return {"gaussian": GPRegressor, "counts": GPCountRegressor, "classes": GPClassifier}[likelihood](**options)


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
        raise OSError(f"{cause}. The model was saved in {rescue} instead; move it where it belongs.") from cause
