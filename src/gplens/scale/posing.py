"""What every worker of a fit computes from the same sample: the columns, the scales and the first model."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow
import torch
from gpytorch.likelihoods import Likelihood
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from gplens.batch.unexplainable import reasons
from gplens.estimators import GPClassifier
from gplens.estimators.base import GPEstimator
from gplens.estimators.fitting import Problem, sparse_model
from gplens.estimators.gp_models import Sparse
from gplens.estimators.parameters import Design
from gplens.estimators.scaling import Scaling
from gplens.estimators.training.options import Training
from gplens.estimators.training_tables import TrainingTable, read_training
from gplens.scale.training_rows import TRAIN, WATCH, Batch, Columns, Division, sample
from gplens.scale.work_list import WorkList


@final
@dataclass(frozen=True)
class FitTask:
    """An estimator, its data and its columns. It is pickled as parameters, places and numbers."""

    estimator: GPEstimator
    """Not fitted, with a number as `random_state`."""
    work: WorkList
    columns: Columns
    holdout: float
    """The fraction of the rows that is held out for the score."""

    @property
    def training(self) -> Training:
        """How the model is trained."""
        return self.estimator.training or Training()

    @property
    def division(self) -> Division:
        """The role of each row."""
        stopping = self.training.stopping
        return Division(self.estimator.random_state, self.holdout, 0.0 if stopping is None else stopping.fraction)


@final
@dataclass(frozen=True, eq=False)
class PosedFit:
    """A fit before its first step."""

    estimator: GPEstimator
    table: TrainingTable
    """The sample, from which columns, averages and background are computed."""
    problem: Problem
    design: Design
    scaling: Scaling
    model: Sparse
    likelihood: Likelihood
    watched: tuple[Float[Tensor, "h d"], Float[Tensor, " h"]]
    """Rows on which the bound is watched; the training rows of the sample if there are none."""
    sampled: tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]
    """Training rows of the sample."""

    def encode(self, columns: Columns, piece: pyarrow.Table) -> Batch:
        """Rows in the units of training, without those that have no inputs or a class outside the sample."""
        plan, rows = self.table.plan, piece.select(list(columns.features))
        y = self.estimator._numbers(values_of(piece[columns.target]))
        bad = np.array([problem is not None for problem in reasons(plan, rows)], dtype=bool) | ~np.isfinite(y)
        good = np.flatnonzero(~bad)
        inputs = plan.encode(plan.raw(rows.take(good), "the table")) if len(good) else np.empty((0, len(plan.inputs)))
        dtype = self.sampled[0].dtype
        X = self.scaling.apply(torch.from_numpy(inputs)).to(dtype)
        return X, ((torch.from_numpy(y[good]) - self.problem.shift) / self.problem.scale).to(dtype)


def pose(task: FitTask) -> PosedFit:
    """Read the sample, and compute the columns, the scales and the first model from it. Deterministic."""
    estimator, columns = task.estimator, task.columns
    table, roles = sample(task.work, columns, task.division)
    train = table.take(np.flatnonzero(roles == TRAIN))
    if train.num_rows == 0:
        raise ValueError(f"expected rows to train on, got none of {table.num_rows} in the sample; lower --holdout.")
    numeric = not isinstance(estimator, GPClassifier)
    targets = values_of(train[columns.target])
    given = read_training(estimator, train.select(list(columns.features)), targets, None, numeric=numeric)
    problem = estimator._pose(given)
    design, scaling = estimator._design(given, shared=getattr(estimator, "shared", True))
    rows = scaling.apply(given.X)
    dtype = torch.float32 if task.training.single else torch.float64
    model, likelihood = sparse_model(design, problem, rows).to(dtype), problem.likelihood.to(dtype)
    sampled = rows.to(dtype), problem.y.to(dtype)
    posed = PosedFit(estimator, given, problem, design, scaling, model, likelihood, sampled, sampled)
    watched = posed.encode(columns, table.take(np.flatnonzero(roles == WATCH)))
    watched = watched if len(watched[0]) else sampled
    return PosedFit(estimator, given, problem, design, scaling, model, likelihood, watched, sampled)


def values_of(column: Any) -> NDArray[Any]:
    """The entries of a column of targets, none of which is missing."""
    return column.to_numpy()
