"""`gplens fit --engine ray`: one sparse model of many Parquet files, trained by the workers of a Ray cluster."""

from pathlib import Path
from typing import TYPE_CHECKING

from gplens.cli.chosen_model import Chosen
from gplens.cli.console import remark, say
from gplens.cli.fit_command import finish

if TYPE_CHECKING:
    from gplens.scale import Engine


def fit_folder(
    data: str, out: Path, model: Chosen, engine: "Engine", *, checkpoint: str, holdout: float, budget: float | None
) -> None:
    """Fit to all rows of Parquet files. The estimator is chosen, and scored, by a sample of the rows."""
    from gplens.scale import Ray, fit_dataset, held_out_rows, read_work_list
    from gplens.scale.training_rows import Columns, Division, sample

    assert isinstance(engine, Ray)
    work = read_work_list(data)
    names = model.features(work.names)
    work.check_columns([*names, model.target])
    table, _ = sample(work, Columns(tuple(names), model.target), Division(model.seed, holdout, 0.0))
    estimator, score_name = model.estimator(table)
    workers = engine.workers or 2
    remark(
        f"fitting {type(estimator).__name__} to {work.rows:,} rows and {len(names)} columns with {workers} workers ..."
    )
    test = held_out_rows(estimator, work, model.target, features=names, holdout=holdout)
    options = {"features": names, "engine": engine, "checkpoint": checkpoint, "holdout": holdout, "budget": budget}
    fitted = fit_dataset(estimator, work, model.target, **options)  # type: ignore[arg-type]
    summary = fitted.training_summary_
    say(
        f"{summary['steps']} steps of {summary['workers']} workers in {summary['seconds']:.0f} seconds, "
        f"{summary['stopped']}; ELBO per row {summary['elbo_per_row']:.4f}"
    )
    finish(fitted, test, model, score_name, out, f"{data!r} --out attributions/ --engine ray")
