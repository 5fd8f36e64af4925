"""ExactGP: training inputs as support points (MATH 1, first row of the table)."""

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from gpytorch.models import GP, ExactGP
from jaxtyping import Float
from linear_operator import to_linear_operator
from torch import Tensor

from gplens.adapters.gpytorch.live import Snapshot, compare_in_double, compare_live
from gplens.adapters.gpytorch.modules import shadow
from gplens.adapters.gpytorch.prior import cholesky, inverse, read_prior, some_of
from gplens.adapters.reading import Reading, check_columns, read_model, with_likelihood
from gplens.lines.forms import Quadratic
from gplens.processes.posterior import Posterior


@read_model.register
def _(model: ExactGP, points: Float[Tensor, "k d"] | None) -> Reading:
    """Read a shadow of the model and compare the shadow's predictions; `compare` evaluates the live model."""
    replica = shadow(model).eval()
    Z, y = _training_data(replica)
    check_columns(Z.shape[1], points)
    x = some_of(Z) if points is None else points
    posterior, notes = _condition(replica, Z, y, x)
    notes = (*notes, *compare_in_double(model, replica, posterior, x))
    compare = partial(compare_live, model, posterior, Snapshot(model, posterior))
    reading = Reading(posterior, type(model).__name__, notes=notes, compare=compare)
    return replace(with_likelihood(reading, model.likelihood), conjugate=True)


@read_model.register
def _(model: GP, points: Float[Tensor, "k d"] | None) -> Reading:
    raise TypeError(f"expected an ExactGP or an ApproximateGP, got {type(model).__name__}; fit one of these.")


def _condition(
    model: Any, Z: Float[Tensor, "n d"], y: Float[Tensor, " n"], points: Float[Tensor, "k d"]
) -> tuple[Posterior, tuple[str, ...]]:
    """beta = (K+S)^-1 (y - mu),  A = (K+S)^-1 = L^-T L^-1, with the noise S of the host's likelihood."""
    prior = read_prior(model, 0, torch.cat([Z[:8], points]))
    mu, K = prior.mean(Z), prior.kernel(Z, Z)
    noisy = model.likelihood(MultivariateNormal(mu, to_linear_operator(K)), Z)  # lazily, since K alone may be singular
    L, notes = cholesky(noisy.covariance_matrix, "K + noise")
    beta = torch.cholesky_solve((y - mu)[:, None], L)[:, 0]
    A = Quadratic(inverse(L)[None], torch.ones(1, len(Z), dtype=Z.dtype))
    return Posterior(prior.kernel, Z, beta, A, prior.mean), prior.notes + notes


def _training_data(model: ExactGP) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
    if model.train_inputs is None or model.train_targets is None:
        raise ValueError("expected an ExactGP with training data, got one that predicts its prior; fit it first.")
    if not isinstance(model.likelihood, _GaussianLikelihoodBase):
        name = type(model.likelihood).__name__
        raise ValueError(f"expected an ExactGP with a Gaussian likelihood, got {name}; use an ApproximateGP for it.")
    inputs, y = model.train_inputs, torch.as_tensor(model.train_targets)
    prior = model.forward(*[x[..., :1, :] for x in inputs])
    if len(inputs) != 1 or inputs[0].ndim != 2 or y.ndim != 1 or isinstance(prior, MultitaskMultivariateNormal):
        shapes = [tuple(x.shape) for x in inputs]
        raise ValueError(
            f"expected an ExactGP with one table of inputs and a single output, got inputs of shape {shapes}, targets "
            f"of shape {tuple(y.shape)} and a {type(prior).__name__} prior; explain the outputs of a multi-output "
            "model one model at a time."
        )
    if not bool(y.isfinite().all()):
        bad = int((~y.isfinite()).sum())
        raise ValueError(f"expected finite training targets, got {bad} of {len(y)} that are not; fit without them.")
    return inputs[0], y
