"""GPyTorch's Gaussian likelihoods, y = f + noise, of one output or of several tasks."""

import warnings
from typing import Any

import torch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.likelihoods import (
    FixedNoiseGaussianLikelihood,
    HadamardGaussianLikelihood,
    MultitaskGaussianLikelihood,
)
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from gpytorch.likelihoods.noise_models import HeteroskedasticNoise
from jaxtyping import Float
from linear_operator.operators import DiagLinearOperator
from torch import Tensor

from gplens import links
from gplens.adapters.gpytorch.modules import reference, shadow, undisturbed
from gplens.adapters.gpytorch.recognition import RESPONSE, Answers, check_answers, check_response
from gplens.adapters.reading import read_likelihood
from gplens.expectations.expectation import ExpectedLink
from gplens.expectations.variances import LatentVariance
from gplens.likelihood import Likelihood
from gplens.processes.process import Marginals

MEANS = torch.tensor([-1.3, 0.4, 2.1], dtype=torch.float64)
"""Latent values at which a likelihood is evaluated in every call, before those of the model."""


@read_likelihood.register
def _(likelihood: _GaussianLikelihoodBase) -> Likelihood:
    """The identity link, whatever the noise."""
    name, replica = type(likelihood).__name__, shadow(likelihood).eval()
    tasks = replica.num_tasks if isinstance(replica, MultitaskGaussianLikelihood) else None
    means = MEANS if tasks is None else MEANS[:, None].expand(-1, tasks)
    noise, before = _noise(replica, means), _ask(likelihood, means)
    check_response(means, _ask(replica, means).mean, name, "f itself")

    def near(marginals: Marginals) -> Likelihood:
        """The same likelihood, if the live one still adds the same noise to each m and changes nothing else."""
        m = marginals.m.flatten() if tasks is None else marginals.m[:, :, 0]
        now = _ask(likelihood, torch.cat([means, m]))
        check_answers(name, before, now)
        check_response(now.f, now.mean, name, "f itself", RESPONSE[now.dtype])
        constant = now.variance[:1].expand_as(now.f)  # its answers when it was read
        check_response(constant, now.variance, name, "the same noise for all values", RESPONSE[now.dtype])
        return observed

    def exceeds(t: float) -> ExpectedLink:
        return ExpectedLink(tuple(links.Probit(shift=t, noise=variance) for variance in noise or ()))

    response, variance = ExpectedLink((links.Identity(),)), None if noise is None else LatentVariance(noise)
    observed = Likelihood(name, response, variance, None if noise is None else exceeds, tasks, near=near)
    return observed


def _ask(likelihood: Any, f: Float[Tensor, "k *c"]) -> Answers:
    """E y and Var y for latent values without variance; fixed noise does not depend on them."""
    with undisturbed(likelihood), torch.no_grad(), warnings.catch_warnings(action="ignore"):
        f = f.to(reference(likelihood))
        kind = MultivariateNormal if f.ndim == 1 else MultitaskMultivariateNormal
        y = _call(likelihood, kind(f, DiagLinearOperator(torch.zeros_like(f).flatten())), f)
        covariance = getattr(y, "lazy_covariance_matrix", None)  # y.variance of GPyTorch has a lower bound
        variance = y.variance if covariance is None else covariance.diagonal(dim1=-1, dim2=-2).view(f.shape)
        if isinstance(likelihood, FixedNoiseGaussianLikelihood):
            variance = likelihood.noise.sum().expand(f.shape)
        dtype, parts = f.dtype, (f, y.mean, variance.expand(f.shape))
        f, mean, variance = (part.to("cpu", torch.float64) for part in parts)
        return Answers(f, mean, variance, type(y).__name__, dtype)


def _call(likelihood: Any, latent: Any, f: Float[Tensor, "k *c"]) -> Any:
    """The distribution of y without inputs. Noise that depends on inputs is passed, or is that of the first task."""
    if isinstance(getattr(likelihood, "noise_covar", None), HeteroskedasticNoise):
        return likelihood(latent, noise=torch.ones_like(f))
    if isinstance(likelihood, HadamardGaussianLikelihood):
        return likelihood(latent, torch.zeros_like(f)[:, None])
    return likelihood(latent)  # FixedNoise warns that it has no noise for these points


def _noise(likelihood: Any, means: Float[Tensor, "3 *c"]) -> tuple[float, ...] | None:
    """The variance that the likelihood adds to each output; None if it differs from input to input."""
    if isinstance(likelihood, FixedNoiseGaussianLikelihood):
        noise = likelihood.noise.flatten()
        return (float(noise[0]),) if bool((noise == noise[0]).all()) else None
    if isinstance(likelihood, HadamardGaussianLikelihood) or not (means.ndim == 2 or hasattr(likelihood, "noise")):
        return None
    return tuple(_ask(likelihood, means).variance[0].flatten().tolist())
