"""GaussianProcessRegressor: training inputs as support points (MATH 1, first row of the table)."""

from functools import partial
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from sklearn.gaussian_process import GaussianProcessRegressor
from torch import Tensor

from gplens.adapters.reading import Reading, read_model
from gplens.adapters.sklearn.changes import noticing_changes
from gplens.adapters.sklearn.predictions import check_fitted_columns, columns_of, compare, predict
from gplens.adapters.sklearn.prior import Prior, inverse, read_prior
from gplens.adapters.support_points import beside_support
from gplens.expectations.expectation import ExpectedLink
from gplens.expectations.variances import LatentVariance
from gplens.likelihood import Likelihood
from gplens.lines.forms import Quadratic
from gplens.links import Identity, Probit
from gplens.means import ConstantMean
from gplens.processes.mix import Mix
from gplens.processes.posterior import Posterior
from gplens.processes.process import Marginals, Process

SUPPORT = 4
"""Support points at which the live kernel is compared beside the points of a call, which may be far from all data."""
PREDICT = GaussianProcessRegressor.predict
"""As it was when this module was imported: a library may be patched later."""
AGREEMENT = 1e-8
"""Difference between two evaluations of one kernel, relative to its scale; rounding leaves some 1e-13."""


@read_model.register
def _(model: GaussianProcessRegressor, points: Float[Tensor, "k d"] | None) -> Reading:
    """beta = alpha_, A = (L_ L_')^-1, of standardised targets; the outputs are scaled and shifted back."""
    if not hasattr(model, "X_train_"):
        raise ValueError(
            "expected a fitted GaussianProcessRegressor, got one that predicts its prior, whose mean is zero "
            "everywhere; call fit(X, y) first."
        )
    check_fitted_columns(model, points)
    prior = read_prior(model, points)
    beta = torch.tensor(np.asarray(model.alpha_, np.float64)).reshape(len(prior.Z), -1).T
    shift, scale = (_each(value, len(beta)) for value in (model._y_train_mean, model._y_train_std))
    process = _process(prior, beta, Quadratic(inverse(model.L_)[None], torch.ones_like(beta[:1])), shift, scale)
    return Reading(
        process,
        type(model).__name__,
        _likelihood(prior.noise, scale),
        notes=prior.notes,
        conjugate=True,
        columns=columns_of(model),
        compare=noticing_changes(LiveRegressor(model, prior, scale, process), model),
    )


def _each(value: Any, outputs: int) -> Float[Tensor, " c"]:
    return torch.tensor(np.asarray(value, np.float64)).reshape(-1).expand(outputs)


def _process(
    prior: Prior,
    beta: Float[Tensor, "c n"],
    A: Quadratic,
    shift: Float[Tensor, " c"],
    scale: Float[Tensor, " c"],
) -> Process:
    """One factorisation for all outputs; a Mix only if normalize_y has scaled them."""
    means = [ConstantMean(value) for value in (shift / scale).tolist()]
    posterior = Posterior(prior.kernel, prior.Z, beta, A, means)
    return posterior if bool((scale == 1).all()) else Mix(posterior, torch.diag(scale))


@final
class LiveRegressor:
    """Comparisons with the live model, whose numbers are those that were read.

    Predictions are computed from these numbers and from the kernel. After a comparison of predictions, the kernel alone
    is left to compare, at the points and at some support points.
    """

    def __init__(
        self, model: GaussianProcessRegressor, prior: Prior, scale: Float[Tensor, " c"], process: Process
    ) -> None:
        self.model, self.prior, self.compared = model, prior, False
        self.predictions = beside_support(process, partial(_compare_live, model, prior, scale))

    def __call__(self, points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        overridden = type(self.model).predict is not PREDICT or "predict" in vars(self.model)
        if self.compared and not overridden and self._has_kernel(points):
            return (f"the host's numbers are those of an earlier comparison; so is its kernel at {len(points)} points",)
        notes = self.predictions(points, at)
        self.compared = True
        return notes

    def _has_kernel(self, points: Float[Tensor, "k d"]) -> bool:
        live: Any = self.model.kernel_
        prior = self.prior
        if prior.noise is None:
            return False
        x = torch.cat([points, prior.Z[:: -(-len(prior.Z) // SUPPORT)]])
        pairs, total = (torch.as_tensor(part) for part in (live(x.numpy(), prior.Z.numpy()), live.diag(x.numpy())))
        ours, variance = prior.kernel(x, prior.Z), prior.kernel.diagonal(x) + prior.noise
        worst = compare("kernel", ours, pairs, prior.size), compare("prior variance", variance, total, prior.size)
        return max(worst) <= AGREEMENT * float(prior.size)


def _compare_live(
    model: GaussianProcessRegressor,
    prior: Prior,
    scale: Float[Tensor, " c"],
    points: Float[Tensor, "k d"],
    at: Marginals,
) -> tuple[str, ...]:
    """m is predict(X); v and the white noise are the square of the std that predict(X, return_std=True) returns."""
    host_m, host_std = (
        array.reshape(len(points), -1) for array in predict(lambda X: model.predict(X, return_std=True), model, points)
    )
    size = prior.size * scale.max() ** 2
    kernel: Any = model.kernel_
    if prior.noise is None:
        noise = torch.tensor(kernel.diag(points.numpy())) - prior.kernel.diagonal(points)
    else:
        noise = torch.full((len(points),), prior.noise, dtype=torch.float64)
    worst_m = compare("mean", at.m[:, :, 0], host_m, host_m.abs().max() + size.sqrt())
    worst_v = compare("variance", at.v[:, :, 0] + noise[:, None] * scale**2, host_std**2, size)
    return (f"m and v equal the host's to {worst_m:.1e} and {worst_v:.1e} at {len(points)} points",)


def _likelihood(noise: float | None, scale: Float[Tensor, " c"]) -> Likelihood:
    """y = f + white noise. `alpha` is part of the fit, but not of the std that predict(return_std=True) returns."""
    name, response = "GaussianProcessRegressor's Gaussian", ExpectedLink((Identity(),))
    if noise is None:
        return Likelihood(name, response)
    noises = tuple((noise * scale**2).tolist())
    if noise == 0:
        return Likelihood(name, response, LatentVariance(noises))

    def exceeds(t: float) -> ExpectedLink:
        return ExpectedLink(tuple(Probit(shift=t, noise=variance) for variance in noises))

    return Likelihood(name, response, LatentVariance(noises), exceeds)
