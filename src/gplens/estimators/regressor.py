"""Regression with Gaussian noise."""

from pathlib import Path
from typing import Any, final, no_type_check

import numpy as np
import torch
from gpytorch.constraints import GreaterThan, Positive
from gpytorch.likelihoods import GaussianLikelihood
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data
from torch import Tensor

from gplens.estimators import fitting
from gplens.estimators.base import GPEstimator
from gplens.estimators.fitting import Design, Problem
from gplens.estimators.likelihoods import log_normal
from gplens.estimators.scaling import Scaling, average, scaling_of
from gplens.estimators.training.options import Training
from gplens.estimators.training.start import Sites

QUIET = 1e-4
"""The smallest noise variance, for targets of variance one."""


@final
class GPRegressor(RegressorMixin, GPEstimator):
    """y = f(x) + noise. Exact up to `exact_rows` rows, sparse above; `training_summary_["inference"]` says which.

    Args:
        kernel: "rbf", "matern32", "matern52" or "rational_quadratic".
        ard: a lengthscale for each column, or one for all.
        exact_rows: the largest table for exact inference, whose time grows with the cube of the rows.
        inducing_points: of a sparse model.
        inducing: where they start: "kmeans", or "first" for the first rows.
        scaling: "columns" standardises each, "table" all by one number, "none" leaves them. Everything that you see is
            in your own units either way.
        training: how a sparse model is trained; Training() if None.
        random_state: seed, of a sparse model.
        progress: a bar where standard error is a terminal.
    """

    @no_type_check  # scikit-learn wants a constructor that takes anything; `fit` checks
    def __init__(
        self,
        kernel: str = "matern52",
        *,
        ard: bool = True,
        exact_rows: int = 2000,
        inducing_points: int = 128,
        inducing: str = "kmeans",
        scaling: str = "columns",
        training: Training | None = None,
        random_state: Any = None,
        progress: bool = True,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.exact_rows = exact_rows
        self.inducing_points = inducing_points
        self.inducing = inducing
        self.scaling = scaling
        self.training = training
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, *, checkpoint: str | Path | None = None) -> "GPRegressor":
        """Fit; checkpoints are for sparse models."""
        X, y = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        inputs, targets = torch.from_numpy(np.array(X)), torch.from_numpy(np.array(y, dtype=np.float64))
        design, scaling = self._design(), scaling_of(self.scaling, inputs)
        fit = self._fit_exact if len(inputs) <= self.exact_rows else self._fit_sparse
        fit(design, scaling, inputs, targets, checkpoint)
        return self

    def _fit_exact(
        self, design: Design, scaling: Scaling, X: Float[Tensor, "n d"], y: Float[Tensor, " n"], folder: Any
    ) -> None:
        shift, scale = _centre(y)
        noise = GaussianLikelihood(noise_constraint=GreaterThan(QUIET)).double()
        model, summary = fitting.fit_exact(design, noise, scaling.apply(X), (y - shift) / scale)
        own = fitting.exact_in_own_units(model, self.kernel, scaling, X, y, shift=shift, scale=scale)
        self._finish(own, own.likelihood, summary, average(X))

    def _fit_sparse(
        self, design: Design, scaling: Scaling, X: Float[Tensor, "n d"], y: Float[Tensor, " n"], folder: Any
    ) -> None:
        shift, scale = _centre(y)
        noise = GaussianLikelihood(noise_constraint=GreaterThan(QUIET)).double()
        noise.initialize(noise=0.1)
        problem = Problem((y - shift) / scale, noise, lambda y: Sites(y[None], torch.full_like(y, 10.0)))
        model, likelihood, summary = fitting.fit_sparse(design, problem, scaling.apply(X), folder, self.progress)
        own = fitting.in_own_units(model, self.kernel, scaling, latents=None, shift=shift, scale=scale)
        self._finish(own, _noise_in_own_units(likelihood, scale), summary, average(X))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """E y; and, if asked for, the standard deviation of y, noise included."""
        m, v = self._marginals(self._read(X))
        if not return_std:
            return m[:, 0].numpy()
        return m[:, 0].numpy(), (v[:, 0] + self.likelihood_.noise).sqrt().numpy()

    def log_density(self, X: Any, y: Any) -> NDArray[np.float64]:
        """log p(y|x) of each row."""
        m, v = self._marginals(self._read(X))
        return log_normal(torch.as_tensor(np.asarray(y)) - m[:, 0], v[:, 0] + self.likelihood_.noise).numpy()


def _centre(y: Float[Tensor, " n"]) -> tuple[float, float]:
    """Mean and deviation; a constant target keeps its units."""
    deviation = float(y.std(correction=0))
    return float(y.mean()), deviation if deviation > 1e-12 * float(y.abs().max()) else 1.0


@torch.no_grad()
def _noise_in_own_units(likelihood: Any, scale: float) -> GaussianLikelihood:
    own = GaussianLikelihood(noise_constraint=Positive()).double()
    own.noise = likelihood.noise * scale**2
    return own.eval().requires_grad_(False)
