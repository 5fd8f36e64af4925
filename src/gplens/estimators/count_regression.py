"""Regression of counts."""

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
from gplens.estimators.evaluation import log_expectation
from gplens.estimators.fitting import Problem, fit_sparse
from gplens.estimators.likelihoods import LogPoisson
from gplens.estimators.parameters import Design
from gplens.estimators.scaling import average, scaling_of
from gplens.estimators.training.q_of_u import Sites
from gplens.estimators.training_tables import read_training

NODES = 64
"""Gauss-Hermite nodes of the predictive density."""


@final
class GPCountRegressor(RegressorMixin, GPEstimator):
    """y ~ Poisson(exp f(x)), by sparse variational inference.

    Args:
        kernel, ard, inducing_points, inducing, scaling, training, random_state, progress: as in GPRegressor.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any, *, checkpoint: str | Path | None = None) -> "GPCountRegressor":
        """Fit to counts: numbers of zero or more, not necessarily whole (averages of several counts)."""
        plan, inputs, y = read_training(self, X, y, numeric=True)
        counts = torch.from_numpy(np.array(y, dtype=np.float64))
        if bool((counts < 0).any()):
            raise ValueError(f"expected counts of zero or more, got y with the smallest value {float(counts.min())}.")
        typical = float((counts.sum() + 0.5) / len(counts))
        problem = Problem(counts, LogPoisson(), lambda y: _sites(y, typical), mean=float(np.log(typical)))
        design, scaling = Design.of(self), scaling_of(self.scaling, inputs, plan.sharing)
        fit = fit_sparse(design, problem, inputs, scaling, folder=checkpoint, show=self.progress)
        self._finish(fit, plan, average(inputs))
        self._warn_if_interrupted()
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """E y = exp(m + v/2); and, if asked for, the standard deviation of y."""
        return self._mean_and_deviation(X, return_std)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of the Poisson deviance explained, as in scikit-learn's PoissonRegressor."""
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def log_density(self, X: Any, y: Any) -> NDArray[np.float64]:
        """log P(y|x) of each row, by Gauss-Hermite over f."""
        m, v = (tensor[:, 0] for tensor in self._marginals(self._read(X)))
        counts = torch.as_tensor(np.array(y, dtype=np.float64))[:, None]
        return log_expectation(lambda f: counts * f - f.exp() - torch.lgamma(counts + 1), m, v, NODES).numpy()


def _sites(y: Float[Tensor, " n"], typical: float) -> Sites:
    """The log of the count, pulled towards the typical one, with the precision of a count of that size."""
    guess = (y + typical**0.5) / (1 + typical**-0.5)
    return Sites(guess.log()[None], guess)
