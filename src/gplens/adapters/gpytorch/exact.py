"""ExactGP: training inputs as support points (MATH 1, first row of the table)."""

from typing import Any

import torch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from gpytorch.models import ExactGP
from jaxtyping import Float
from linear_operator import to_linear_operator
from torch import Tensor

from gplens.adapters.gpytorch.factor import cholesky, inverse
from gplens.adapters.gpytorch.prior import read_prior
from gplens.lines.quadratic import Quadratic
from gplens.processes.posterior import Posterior


def read_exact(model: ExactGP, points: Float[Tensor, "k d"]) -> tuple[Posterior, tuple[str, ...]]:
    """beta = (K+S)^-1 (y - mu),  A = (K+S)^-1 = L^-T L^-1, from a copy of the model in float64."""
    Z, y = _training_data(model)
    prior = read_prior(model, 0, torch.cat([Z[:8], points]))
    mu, K = prior.mean(Z), prior.kernel(Z, Z)
    likelihood: Any = model.likelihood
    noisy = likelihood(MultivariateNormal(mu, to_linear_operator(K)), Z)  # lazily: K alone may well be singular
    L, notes = cholesky(noisy.covariance_matrix, "K + noise")
    beta = torch.cholesky_solve((y - mu)[:, None], L)[:, 0]
    A = Quadratic(inverse(L)[None], torch.ones(1, len(Z), dtype=Z.dtype))
    return Posterior(prior.kernel, Z, beta, A, prior.mean), prior.notes + notes


def _training_data(model: ExactGP) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
    if model.train_inputs is None or model.train_targets is None:
        raise ValueError("The ExactGP has no training data, so that there is nothing to explain. Fit it first.")
    if not isinstance(model.likelihood, _GaussianLikelihoodBase):
        got = type(model.likelihood).__name__
        raise ValueError(f"An ExactGP wants a Gaussian likelihood; got {got}. Use an ApproximateGP for that one.")
    inputs, y = model.train_inputs, torch.as_tensor(model.train_targets)
    prior = model.forward(*[x[..., :1, :] for x in inputs])
    if len(inputs) != 1 or inputs[0].ndim != 2 or y.ndim != 1 or isinstance(prior, MultitaskMultivariateNormal):
        shapes = [tuple(x.shape) for x in inputs]
        raise ValueError(
            f"The ExactGP has inputs of shape {shapes}, targets of shape {tuple(y.shape)} and a {type(prior).__name__} "
            "prior; wanted is one table of inputs and a single output. Explain the outputs of a multi-output model one "
            "model at a time."
        )
    if not bool(y.isfinite().all()):
        raise ValueError(
            f"{int((~y.isfinite()).sum())} of the {len(y)} training targets are not finite; fit without them."
        )
    return inputs[0], y
