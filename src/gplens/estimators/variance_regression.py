"""Regression of a variance."""

from dataclasses import KW_ONLY, dataclass, replace
from math import inf
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
from gplens.estimators.evaluation import log_expectation
from gplens.estimators.fitting import Problem, Settings
from gplens.estimators.own_likelihoods import SquaredScale, log_normal
from gplens.estimators.quasi_newton import fit_likelihood
from gplens.estimators.training.q_of_u import Sites
from gplens.estimators.training_tables import read_training
from gplens.estimators.weights import mean

NODES = 128
"""Gauss-Hermite nodes of the predictive density."""


@final
@dataclass(eq=False, repr=False)
class GPVarianceRegressor(RegressorMixin, GPEstimator):
    """Sparse regression of a variance: y ~ N(0, f(x)^2 + floor), for observations that scatter around zero.

    `predict` returns the variance of y, which is what is explained. The paper's likelihood has floor = 0, for which
    no finite ELBO exists (see `likelihoods.SquaredScale`); attributions do not depend on an additive constant.

    Args:
        kernel, ard, inducing_points, inducing, scaling, columns, training, random_state, progress: as in GPRegressor.
        floor: as a fraction of the mean of y^2; above zero.

    Example:
        >>> from gplens.estimators import GPVarianceRegressor, Training
        >>> model = GPVarianceRegressor(training=Training(steps=5), random_state=0, progress=False)
        >>> model = model.fit(X.numpy(), [0.1, -1.0, 0.2, 2.0, 0.5])
        >>> model.predict(X.numpy()).shape
        (5,)
    """

    _: KW_ONLY
    floor: float | int = 0.01

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # what it predicts is the variance of y, not y
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, budget: Any = None, checkpoint: str | Path | None = None
    ) -> "GPVarianceRegressor":
        """Fit to observations that scatter around zero.

        X, y, sample_weight, budget and checkpoint are those of `GPRegressor.fit`.

        Raises:
            ValueError: if all observations are zero, or one is missing or infinite.
        """
        table = read_training(self, X, y, sample_weight, numeric=True)
        observed = torch.from_numpy(np.array(table.y, dtype=np.float64))
        scale = float(mean(observed.square(), table.weights).sqrt())
        if scale == 0:
            raise ValueError(f"expected some y other than zero, got {len(observed)} zeros.")
        floor = as_float(self.floor)
        if floor is None or not 0 < floor < inf:
            raise ValueError(f"floor must be a finite number above zero, got floor={self.floor!r}.")
        likelihood = SquaredScale(floor)
        start: dict[str, Any] = {"mean": 0.8, "variance": 0.25, "concave": False, "scale": scale}
        problem = Problem(observed / scale, likelihood, _sites, weights=table.weights, **start)
        design, scaling = self._design(table)
        fit = fit_likelihood(design, problem, table.X, scaling, Settings.of(budget, checkpoint, self.progress))
        self._finish_fit(replace(fit, likelihood=SquaredScale(floor * scale**2)), table)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Var y = m^2 + v + floor for each row of X; with return_std=True also the standard deviation, its root."""
        return self._mean_and_deviation(X, return_std)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The average log density of y given X, by sample_weight: R^2 would compare a variance with an observation."""
        return float(np.average(self.log_density(X, y), weights=sample_weight))

    def log_density(self, X: Any, y: Any) -> NDArray[np.float64]:
        """log p(y|x) of each row of X, for the observations y, by Gauss-Hermite over f."""
        m, v = (tensor[:, 0] for tensor in self._marginals(self._read(X)))
        observed = torch.from_numpy(np.array(y, dtype=np.float64))[:, None]
        floor = self.likelihood_.floor
        return log_expectation(lambda f: log_normal(observed.expand_as(f), f**2 + floor), m, v, NODES).numpy()


def _sites(y: Float[Tensor, " n"]) -> Sites:
    """|f| = E |y| / sqrt(2/pi): the positive one of the two functions that explain y equally well."""
    return Sites((y.abs() * (torch.pi / 2) ** 0.5)[None], torch.full_like(y, 2.0))
