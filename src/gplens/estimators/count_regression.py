"""Regression of counts."""

from dataclasses import replace
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score
from torch import Tensor

from gplens.estimators.base import GPEstimator
from gplens.estimators.dispersion import log_negative_binomial, with_dispersion
from gplens.estimators.evaluation import log_expectation
from gplens.estimators.fitting import Problem, Settings, fit_by_minibatches
from gplens.estimators.own_likelihoods import LogNegativeBinomial
from gplens.estimators.training.options import Training
from gplens.estimators.training.q_of_u import Sites
from gplens.estimators.training_tables import TrainingTable, check_counts, read_training

NODES = 64
"""Gauss-Hermite nodes of the predictive density."""
START = 10.0
"""The size of the negative binomial at the start of a fit."""
MINIBATCHES = Training(batch=500)
"""Of tables with more than 1,000 rows, if no training is asked for. Recipe: on splits of the training part of the bikes
500 rows take half of the time of 1,000, and lose 0.012 nats per row."""


@final
class GPCountRegressor(RegressorMixin, GPEstimator):
    """Sparse regression of counts: y is negative binomial with mean exp f(x), or Poisson if the counts vary no more.

    With r = exp f, Var[y|f] = r + dispersion r^2; `training_summary_["dispersion"]` says how much, zero for Poisson.

    Args:
        kernel, ard, inducing_points, inducing, scaling, columns, training, random_state, progress: as in GPRegressor.

    Example:
        >>> from gplens.estimators import GPCountRegressor, Training
        >>> model = GPCountRegressor(training=Training(steps=5), random_state=0, progress=False)
        >>> model = model.fit(X.numpy(), [0, 1, 2, 3, 1])
        >>> model.explain(X.numpy()[:1]).values.shape
        torch.Size([1, 2])
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, budget: Any = None, checkpoint: str | Path | None = None
    ) -> "GPCountRegressor":
        """Fit to counts: numbers of zero or more. Numbers that are not whole are taken as they are, with a warning.

        X, y, sample_weight, budget and checkpoint are those of `GPRegressor.fit`.

        Raises:
            ValueError: if a count is negative, missing or infinite.
        """
        table = read_training(self, X, y, sample_weight, numeric=True)
        problem, (design, scaling) = self._pose(table), self._design(table)
        if design.training is None and len(table.X) > Training().batch:
            design = replace(design, training=MINIBATCHES)
        fit = fit_by_minibatches(design, problem, table.X, scaling, Settings.of(budget, checkpoint, self.progress))
        self._finish_fit(with_dispersion(fit, design, table.X, problem.y, table.weights), table)
        return self

    def _pose(self, table: TrainingTable) -> Problem:
        counts = torch.from_numpy(np.array(table.y, dtype=np.float64))
        check_counts(counts.numpy())
        w = torch.ones_like(counts) if table.weights is None else table.weights
        typical = float(((w * counts).sum() + 0.5) / w.sum())
        start = float(np.log(typical))
        return Problem(
            counts, LogNegativeBinomial(START), lambda y: _sites(y, typical), mean=start, weights=table.weights
        )

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """E y = exp(m + v/2) for each row of X; and, with return_std=True, the standard deviation of y."""
        return self._mean_and_deviation(X, return_std)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of the Poisson deviance of y, by sample_weight, that predictions for X explain.

        As in scikit-learn's PoissonRegressor: 1 is perfect, 0 as good as the mean of y.
        """
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def log_density(self, X: Any, y: Any) -> NDArray[np.float64]:
        """log P(y|x) of each row of X, for the counts y, by Gauss-Hermite over f."""
        m, v = (tensor[:, 0] for tensor in self._marginals(self._read(X)))
        counts = torch.as_tensor(np.array(y, dtype=np.float64))[:, None]
        if isinstance(self.likelihood_, LogNegativeBinomial):
            size = self.likelihood_.size
            return log_expectation(lambda f: log_negative_binomial(counts, f, size), m, v, NODES).numpy()
        return log_expectation(lambda f: counts * f - f.exp() - torch.lgamma(counts + 1), m, v, NODES).numpy()


def _sites(y: Float[Tensor, " n"], typical: float) -> Sites:
    """The logarithm of the count, shrunk towards the typical one, with the precision of a count of that size."""
    guess = (y + typical**0.5) / (1 + typical**-0.5)
    return Sites(guess.log()[None], guess)
