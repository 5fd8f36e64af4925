"""Regression of counts."""

from pathlib import Path
from typing import Any, final, no_type_check

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.validation import validate_data
from torch import Tensor

from gplens.estimators import fitting
from gplens.estimators.base import GPEstimator
from gplens.estimators.fitting import Problem
from gplens.estimators.likelihoods import LogPoisson
from gplens.estimators.scaling import average, scaling_of
from gplens.estimators.training.options import Training
from gplens.estimators.training.start import Sites

NODES = 64
"""Gauss-Hermite nodes of the predictive density."""


@final
class GPCountRegressor(RegressorMixin, GPEstimator):
    """y ~ Poisson(exp f(x)), by sparse variational inference. The arguments are those of GPRegressor."""

    @no_type_check  # scikit-learn wants a constructor that takes anything; `fit` checks
    def __init__(
        self,
        kernel: str = "matern52",
        *,
        ard: bool = True,
        inducing_points: int = 128,
        inducing: str = "kmeans",
        scaling: str = "columns",
        training: Training | None = None,
        random_state: Any = None,
        progress: bool = True,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.inducing_points = inducing_points
        self.inducing = inducing
        self.scaling = scaling
        self.training = training
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any, *, checkpoint: str | Path | None = None) -> "GPCountRegressor":
        """Fit to counts: numbers of zero or more, whole or (as rates of several counts) not."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        inputs, counts = torch.from_numpy(np.array(X)), torch.from_numpy(np.array(y, dtype=np.float64))
        if bool((counts < 0).any()):
            raise ValueError(f"The smallest y is {float(counts.min())}; counts of zero or more were wanted.")
        scaling, typical = scaling_of(self.scaling, inputs), float((counts.sum() + 0.5) / len(counts))
        problem = Problem(counts, LogPoisson(), lambda y: _sites(y, typical), mean=float(np.log(typical)))
        design = self._design()
        model, likelihood, summary = fitting.fit_sparse(
            design, problem, scaling.apply(inputs), checkpoint, self.progress
        )
        own = fitting.in_own_units(model, self.kernel, scaling, latents=None)
        self._finish(own, likelihood, summary, average(inputs))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """E y = exp(m + v/2); and, if asked for, the standard deviation of y."""
        m, v = (tensor[:, 0] for tensor in self._marginals(self._read(X)))
        rate = torch.exp(m + v / 2)
        if not return_std:
            return rate.numpy()
        return rate.numpy(), (rate + torch.expm1(v) * rate**2).sqrt().numpy()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of the Poisson deviance explained, as scikit-learn's PoissonRegressor has it."""
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def log_density(self, X: Any, y: Any) -> NDArray[np.float64]:
        """log P(y|x) of each row, E over f by Gauss-Hermite."""
        m, v = (tensor[:, 0] for tensor in self._marginals(self._read(X)))
        return _log_poisson(torch.as_tensor(np.array(y, dtype=np.float64)), m, v).numpy()


def _sites(y: Float[Tensor, " n"], typical: float) -> Sites:
    """log of the count, pulled towards the typical one, with the precision that a count of that size has."""
    guess = (y + typical**0.5) / (1 + typical**-0.5)
    return Sites(guess.log()[None], guess)


def _log_poisson(y: Float[Tensor, " b"], m: Float[Tensor, " b"], v: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
    nodes, weights = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(NODES))
    f = m[:, None] + v.sqrt()[:, None] * nodes
    log_p = y[:, None] * f - f.exp() - torch.lgamma(y + 1)[:, None]
    return torch.logsumexp(log_p + (weights / weights.sum()).log(), dim=1)
