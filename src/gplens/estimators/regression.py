"""Regression with Gaussian noise."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from torch import Tensor

from gplens.adapters.numbers import as_float
from gplens.estimators.base import GPEstimator
from gplens.estimators.exact_regression import fit_exactly
from gplens.estimators.fitting import Problem, Settings, gaussian_noise
from gplens.estimators.own_likelihoods import log_normal
from gplens.estimators.sparse_regression import fit_sparse_regression
from gplens.estimators.training.fit_sizes import most_exact_rows
from gplens.estimators.training.q_of_u import Sites
from gplens.estimators.training_tables import TrainingTable, read_training
from gplens.estimators.weights import Weights, deviation, mean


@final
@dataclass(eq=False, repr=False)
class GPRegressor(RegressorMixin, GPEstimator):
    """y = f(x) + noise, exact or sparse depending on the number of rows; `training_summary_["inference"]` says which.

    Args:
        kernel: "rbf", "matern32", "matern52", "rational_quadratic", or "auto": "matern52" or "rbf", whichever explains
            up to 500 of the rows better.
        ard: one lengthscale for each column, or one for all.
        inducing_points: the number of inducing points of a sparse model; None chooses it within the budget of `fit`.
        inducing: initial inducing points: "auto" takes the rows that the others explain least (k-means centres if
            inducing points are trained), "kmeans" k-means centres, "first" the first rows.
        scaling: "columns" standardises each column, "table" scales all by one number, "none" leaves them. The fitted
            model and all results are in the units of the table in any case.
        columns: kinds of columns by name, such as {"hour": gplens.columns.Cyclic(24)}; see docs/ESTIMATORS.md.
        training: None fits by L-BFGS; Training(...) trains a sparse model by minibatches.
        random_state: the seed of a sparse model.
        progress: whether to show a progress bar if standard error is a terminal.
        exact_rows: the largest number of rows for exact inference, whose time grows with their cube; None follows the
            budget of `fit`: 2,987 rows without one.

    Example:
        >>> from gplens.estimators import GPRegressor
        >>> model = GPRegressor(random_state=0, progress=False).fit(X.numpy(), y.numpy())
        >>> model.explain(X.numpy()[:1]).values.shape
        torch.Size([1, 2])
    """

    _: KW_ONLY
    exact_rows: int | None = None

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, budget: Any = None, checkpoint: str | Path | None = None
    ) -> "GPRegressor":
        """Fit to real numbers. Checkpoints are written by sparse fits only.

        Args:
            X: a frame or an array with a row for each target; docs/ESTIMATORS.md says what columns may hold.
            y: a number for each row.
            sample_weight: how often each row counts.
            budget: seconds, after which the fit ends with the best model so far; None is no limit.
            checkpoint: a folder, from which a killed fit resumes where it stopped.

        Raises:
            ValueError: if a target is missing or infinite, or a column cannot be read.

        Example:
            >>> GPRegressor(progress=False).fit(frame, y.numpy(), budget=10).training_summary_["inference"]
            'exact'
        """
        table = read_training(self, X, y, sample_weight, numeric=True)
        problem, (design, scaling) = self._pose(table), self._design(table)
        settings = Settings.of(budget, checkpoint, self.progress)
        limit = most_exact_rows(settings.budget) if self.exact_rows is None else as_float(self.exact_rows)
        if limit is None:
            raise ValueError(f"exact_rows must be a number of rows or None, got exact_rows={self.exact_rows!r}.")
        fitted = fit_exactly if len(table.X) <= limit else fit_sparse_regression
        fit = fitted(design, problem, table.X, scaling, settings)
        self._finish_fit(fit, table)
        return self

    def _pose(self, table: TrainingTable) -> Problem:
        targets = torch.from_numpy(np.array(table.y, dtype=np.float64))
        shift, scale = _centre(targets, table.weights)
        scaled = (targets - shift) / scale
        return Problem(scaled, gaussian_noise(0.1), _sites, shift=shift, scale=scale, weights=table.weights)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """E y = m; and, if requested, the standard deviation of y, including noise.

        Args:
            X: rows with the columns of the table of `fit`.
            return_std: whether to return a pair, with the standard deviations.

        Raises:
            NotFittedError: before `fit`.

        Example:
            >>> mean, deviation = GPRegressor.load(saved).predict(frame, return_std=True)
            >>> mean.shape, bool((deviation > 0).all())
            ((5,), True)
        """
        return self._mean_and_deviation(X, return_std)

    def log_density(self, X: Any, y: Any) -> NDArray[np.float64]:
        """log p(y|x) of each row.

        Args:
            X, y: rows as in `predict`, and what was observed there.

        Example:
            >>> GPRegressor.load(saved).log_density(frame, y.numpy()).shape
            (5,)
        """
        mean, deviation = (torch.from_numpy(part) for part in self._mean_and_deviation(X, return_std=True))
        return log_normal(torch.as_tensor(np.asarray(y)) - mean, deviation**2).numpy()


def _sites(y: Float[Tensor, " n"]) -> Sites:
    """The targets themselves, with the precision of the initial noise."""
    return Sites(y[None], torch.full_like(y, 10.0))


def _centre(y: Float[Tensor, " n"], weights: Weights) -> tuple[float, float]:
    """Mean and deviation; the deviation of a constant target is one."""
    spread = float(deviation(y, weights))
    return float(mean(y, weights)), spread if spread > 1e-12 * float(y.abs().max()) else 1.0
