"""Regression of a variance."""

from pathlib import Path
from typing import Any, final, no_type_check

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data
from torch import Tensor

from gplens.estimators import fitting
from gplens.estimators.base import GPEstimator
from gplens.estimators.fitting import Problem
from gplens.estimators.likelihoods import SquaredScale, log_normal
from gplens.estimators.scaling import average, scaling_of
from gplens.estimators.training.options import Training
from gplens.estimators.training.start import Sites

NODES = 128
"""Gauss-Hermite nodes of the predictive density."""


@final
class GPVarianceRegressor(RegressorMixin, GPEstimator):
    """y ~ N(0, f(x)^2 + floor): how much y scatters around zero, and what makes it. Sparse variational inference.

    `predict` gives the variance of y, and that is what is explained. The paper's likelihood is floor = 0, for which no
    finite ELBO exists (see `likelihoods.SquaredScale`); attributions do not depend on an additive constant.

    Args:
        floor: as a fraction of the mean of y^2. The others are those of GPRegressor.
    """

    @no_type_check  # scikit-learn wants a constructor that takes anything; `fit` checks
    def __init__(
        self,
        kernel: str = "matern52",
        *,
        floor: float = 0.01,
        ard: bool = True,
        inducing_points: int = 128,
        inducing: str = "kmeans",
        scaling: str = "columns",
        training: Training | None = None,
        random_state: Any = None,
        progress: bool = True,
    ) -> None:
        self.kernel = kernel
        self.floor = floor
        self.ard = ard
        self.inducing_points = inducing_points
        self.inducing = inducing
        self.scaling = scaling
        self.training = training
        self.random_state = random_state
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # what it predicts is the variance of y, not y
        return tags

    def fit(self, X: Any, y: Any, *, checkpoint: str | Path | None = None) -> "GPVarianceRegressor":
        """Fit to observations that scatter around zero."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        inputs, observed = torch.from_numpy(np.array(X)), torch.from_numpy(np.array(y, dtype=np.float64))
        scale = float(observed.square().mean().sqrt())
        if scale == 0 or not self.floor > 0:
            got = "y is zero throughout" if scale == 0 else f"floor={self.floor}"
            raise ValueError(f"{got}; wanted were some y that are not zero, and a floor above zero.")
        scaling, design = scaling_of(self.scaling, inputs), self._design()
        problem = Problem(observed / scale, SquaredScale(self.floor), _sites, mean=0.8, variance=0.25, concave=False)
        model, _, summary = fitting.fit_sparse(design, problem, scaling.apply(inputs), checkpoint, self.progress)
        own = fitting.in_own_units(model, self.kernel, scaling, latents=None, scale=scale)
        self._finish(own, SquaredScale(self.floor * scale**2), summary, average(inputs))
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Var y = m^2 + v + floor; and, if asked for, the standard deviation of y, which is its root."""
        m, v = (tensor[:, 0] for tensor in self._marginals(self._read(X)))
        variance = m**2 + v + self.likelihood_.floor
        return (variance.numpy(), variance.sqrt().numpy()) if return_std else variance.numpy()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The average log density of y: R^2 would compare a variance with an observation."""
        return float(np.average(self.log_density(X, y), weights=sample_weight))

    def log_density(self, X: Any, y: Any) -> NDArray[np.float64]:
        """log p(y|x) of each row, E over f by Gauss-Hermite."""
        m, v = (tensor[:, 0] for tensor in self._marginals(self._read(X)))
        nodes, weights = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(NODES))
        f = m[:, None] + v.sqrt()[:, None] * nodes
        observed = torch.from_numpy(np.array(y, dtype=np.float64))[:, None].expand_as(f)
        log_p = log_normal(observed, f**2 + self.likelihood_.floor)
        return torch.logsumexp(log_p + (weights / weights.sum()).log(), dim=1).numpy()


def _sites(y: Float[Tensor, " n"]) -> Sites:
    """E |y| = |f| sqrt(2/pi): the positive one of the two functions that explain y equally well."""
    return Sites((y.abs() * (torch.pi / 2) ** 0.5)[None], torch.full_like(y, 2.0))
