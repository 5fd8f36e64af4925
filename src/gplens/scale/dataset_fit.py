"""Fits to Parquet files of any number and size: several workers of a Ray cluster train one sparse model."""

import hashlib
import json
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow
import torch
import torch.distributed as dist

from gplens.adapters.hosts import Extra
from gplens.estimators.base import GPEstimator
from gplens.estimators.fitting import fit_in_table_units
from gplens.estimators.loading import load
from gplens.estimators.training.options import Training
from gplens.scale.parallel_loop import ParallelLoop
from gplens.scale.placed_checkpoint import PlacedCheckpoint
from gplens.scale.places import Place
from gplens.scale.posing import FitTask, pose
from gplens.scale.ray_cluster import connected
from gplens.scale.ray_engine import RETRIES, Ray
from gplens.scale.training_rows import TEST, Columns, Stream, sample, shards
from gplens.scale.unit_task import local_copy
from gplens.scale.work_list import WorkList, read_work_list
from gplens.scale.worker_threads import use_threads

MODEL = "model"
"""The folder beside the checkpoint to which the first worker writes the fitted model."""
ERRORS = (OSError, ValueError, TypeError, ImportError, ArithmeticError)


def fit_dataset(
    estimator: GPEstimator,
    data: str | Path | Sequence[str | Path] | WorkList,
    target: str,
    *,
    features: Sequence[str] | None = None,
    engine: Ray | None = None,
    checkpoint: str | Path,
    holdout: float = 0.0,
    budget: float | None = None,
) -> GPEstimator:
    """Fit a sparse estimator to Parquet files by minibatches; each worker of a Ray cluster reads its share of the rows.

    Columns, scales, inducing points and background are computed from a sample of 50,000 rows, everything else from all
    rows. The same seed and number of workers give the same model. A worker that dies is replaced, and all
    workers continue from the last checkpoint, as a new call does if the whole cluster has ended.

    Args:
        estimator: a GPRegressor, GPCountRegressor or GPClassifier that is not fitted, with a number as `random_state`.
        data: as in `explain_dataset`.
        target: the column to predict.
        features: the columns of the features; all but the target if None.
        engine: the cluster, the number of workers (2 if None) and their CPUs.
        checkpoint: a folder or URL that all workers can access; it is removed at the end.
        holdout: the fraction of the rows that are not used for training; `held_out_rows` returns some of them.
        budget: the seconds after which the fit ends with the best model so far.

    Raises:
        ValueError, OSError, ImportError: with what was expected, what was got, and what to do.

    Returns:
        The fitted estimator.

    Example:
        >>> from pathlib import Path
        >>> from gplens.estimators import Training
        >>> from gplens.scale import Ray, fit_dataset
        >>> folder, one = Path(tempfile.mkdtemp()), Ray(workers=1)
        >>> pandas.concat([frame] * 40).assign(y=y.tolist() * 40).to_parquet(folder / "rows.parquet", index=False)
        >>> model = GPRegressor(inducing_points=4, training=Training(steps=5, batch=50), random_state=0)
        >>> model = fit_dataset(model, folder / "rows.parquet", "y", engine=one, checkpoint=folder / "checkpoint")
        >>> model.predict(frame).shape
        (5,)
    """
    with Extra("ray", "gplens.scale.fit_dataset"):
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchTrainer

        from gplens.scale.process_group import NoGroup
    engine = engine or Ray()
    task = fit_task(estimator, data, target, features=features, holdout=holdout)
    place, workers = Place.of(checkpoint), engine.workers or 2
    shards(task.work.units, workers)
    config = {"task": task, "place": place, "budget": budget, "threads": engine.cpus}
    with connected(engine.address, cpus=workers * engine.cpus + 1):
        trainer = TorchTrainer(
            train_on_ray,
            train_loop_config=config,
            torch_config=NoGroup(),
            scaling_config=ScalingConfig(num_workers=workers, resources_per_worker={"CPU": engine.cpus}),
            run_config=RunConfig(
                name="ray", storage_path=place.url, failure_config=FailureConfig(max_failures=RETRIES)
            ),
        )
        try:
            trainer.fit()
        except Exception as error:
            raise _sentence(error) from error
    with local_copy(place / MODEL) as folder:
        fitted = load(folder)
    place.remove()
    return fitted


def fit_task(
    estimator: GPEstimator, data: Any, target: str, *, features: Sequence[str] | None, holdout: float
) -> FitTask:
    """The estimator, its data and its columns, after checks."""
    work = data if isinstance(data, WorkList) else read_work_list(data)
    names = tuple(name for name in work.names if name != target) if features is None else tuple(features)
    columns = Columns(names, target)
    work.check_columns(columns.every)
    if not isinstance(estimator.random_state, int):
        raise ValueError(f"expected a number as random_state, which all workers share, got {estimator.random_state!r}.")
    if estimator.training is None:
        estimator.set_params(training=Training())
    return FitTask(estimator, work, columns, holdout)


def held_out_rows(
    estimator: GPEstimator, data: Any, target: str, *, features: Sequence[str] | None, holdout: float
) -> pyarrow.Table:
    """Rows of the sample that `fit_dataset` with these arguments does not train on.

    Args:
        estimator, data, target, features, holdout: as in `fit_dataset`.

    Raises:
        ValueError, OSError: as `fit_dataset`.

    Returns:
        An Arrow table of the features and the target.

    Example:
        >>> from pathlib import Path
        >>> from gplens.scale import held_out_rows
        >>> path = Path(tempfile.mkdtemp()) / "rows.parquet"
        >>> pandas.concat([frame] * 40).assign(y=y.tolist() * 40).to_parquet(path, index=False)
        >>> rows = held_out_rows(GPRegressor(random_state=0), path, "y", features=["heat", "time"], holdout=0.2)
        >>> rows.column_names, 0 < rows.num_rows < 200
        (['heat', 'time', 'y'], True)
    """
    task = fit_task(estimator, data, target, features=features, holdout=holdout)
    table, roles = sample(task.work, task.columns, task.division)
    return table.filter(pyarrow.array(roles == TEST))


def train_on_ray(config: dict[str, Any]) -> None:
    """The function that Ray Train runs in each worker."""
    from gplens.scale.process_group import process_group

    use_threads(config["threads"])
    with process_group(), warnings.catch_warnings(action="ignore", category=UserWarning):
        train(config["task"], config["place"], config["budget"])


def train(task: FitTask, place: Place, budget: float | None) -> None:
    """The part of one worker in a fit, within a process group. The first worker writes the model."""
    began, rank, workers = perf_counter(), dist.get_rank(), dist.get_world_size()
    posed = pose(task)
    stream = Stream(
        shards(task.work.units, workers)[rank],
        task.columns,
        task.division,
        lambda piece: posed.encode(task.columns, piece),
        size=max(task.training.batch // workers, 1),
        number=rank,
    )
    loop = ParallelLoop(posed, task.training, stream)
    checkpoint = PlacedCheckpoint(place, fingerprint_of_fit(task, workers))
    summary = loop.run(checkpoint, None if budget is None else began + budget)
    if rank == 0:
        _finish(task, loop, summary, place)
    dist.barrier()


def _finish(task: FitTask, loop: ParallelLoop, summary: dict[str, Any], place: Place) -> None:
    """Write the fitted estimator."""
    posed = loop.posed
    points = loop.model.strategy.inducing_points.shape[-2]
    about = {"inference": "sparse", "inducing_points": points, "seed": posed.design.seed}
    about |= {"optimizer": repr(loop.optimizer), **summary}
    problem = replace(posed.problem, weights=None)
    fit = fit_in_table_units(posed.design, problem, loop.model.double(), loop.likelihood, posed.scaling, about)
    posed.estimator._finish_fit(fit, posed.table)
    with tempfile.TemporaryDirectory() as name:
        posed.estimator.save(name)
        for file in Path(name).iterdir():
            (place / MODEL / file.name).write(file.read_bytes())


def fingerprint_of_fit(task: FitTask, workers: int) -> str:
    """A hash of everything that the steps of a fit depend on."""
    parameters = {key: repr(value) for key, value in task.estimator.get_params(deep=False).items()}
    facts = [type(task.estimator).__name__, parameters, task.work.identities(), task.columns.every, task.holdout]
    return hashlib.sha256(json.dumps([facts, workers, torch.__version__]).encode()).hexdigest()


def _sentence(error: Exception) -> Exception:
    """The error of a worker, with its type; else the error of Ray Train."""
    failures = getattr(error, "worker_failures", None) or {}
    for failure in failures.values():
        cause = getattr(failure, "cause", None) or failure
        if kind := next((kind for kind in ERRORS if isinstance(cause, kind)), None):
            return kind(str(cause))
    return OSError(
        f"expected a complete fit, got {type(error).__name__} after {RETRIES + 1} attempts ({error}); the last "
        "checkpoint is kept; repeat the call to continue from it."
    )
