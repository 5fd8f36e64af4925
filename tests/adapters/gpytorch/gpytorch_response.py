"""The number that the user's model prints, from the host alone: `likelihood(model(x)).mean` and what it stands for."""

from collections.abc import Callable

import gpytorch
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import BernoulliLikelihood, FixedNoiseGaussianLikelihood
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from gpytorch_entries import Host
from gpytorch_parts import ExpPoisson
from torch import Tensor

from oracles.hermite import expectation

CLOSED = (_GaussianLikelihoodBase, BernoulliLikelihood)
"""Likelihoods whose marginal the host has in closed form; those of the others it samples."""


def predicted(host: Host, f: MultivariateNormal) -> torch.distributions.Distribution:
    """`likelihood(f)`; a fixed noise belongs to the training points and has to be told anew."""
    if isinstance(host.likelihood, FixedNoiseGaussianLikelihood):
        return host.likelihood(f, noise=torch.full_like(f.mean, float(host.likelihood.noise[0])))
    return host.likelihood(f)


def response(host: Host) -> Callable[[Tensor], Tensor]:
    """x -> E y, differentiable: the host's where it is closed, else E of its `forward(f).mean` by Gauss-Hermite."""

    def expected(x: Tensor) -> Tensor:
        with gpytorch.settings.fast_pred_var(False):
            f = host.model(x)
        if isinstance(host.likelihood, CLOSED):
            return predicted(host, f).mean
        if isinstance(host.likelihood, ExpPoisson):
            return torch.exp(f.mean + f.variance / 2)  # the log-normal mean, to the last digit
        return expectation(lambda values: host.likelihood.forward(values).mean, f.mean, f.variance)

    return expected
