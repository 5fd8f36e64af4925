"""GPyTorch's Gaussian likelihoods, y = f + noise, of one output or of several tasks."""

import warnings
from typing import Any

import torch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, MultitaskGaussianLikelihood
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from jaxtyping import Float
from torch import Tensor

from gplens import links
from gplens.adapters.gpytorch.likelihoods import check_response, reference
from gplens.adapters.gpytorch.live import undisturbed
from gplens.adapters.gpytorch.shadow import shadow
from gplens.adapters.reading import probe_likelihood, read_likelihood
from gplens.expectations.elementwise import ExpectedLink, LatentVariance
from gplens.likelihood import Likelihood


@read_likelihood.register
def _(likelihood: _GaussianLikelihoodBase) -> Likelihood:
    """The identity link, whatever the noise."""
    name, replica = type(likelihood).__name__, shadow(likelihood).eval()
    m, y = _observed(replica)
    check_response(m, y.mean, name, "f itself")
    noise = _noise(replica)
    tasks = replica.num_tasks if isinstance(replica, MultitaskGaussianLikelihood) else None
    response = ExpectedLink((links.Identity(),))
    if noise is None:
        return Likelihood(name, response, latents=tasks)

    def exceeds(t: float) -> ExpectedLink:
        return ExpectedLink(tuple(links.Probit(shift=t, noise=variance) for variance in noise))

    return Likelihood(name, response, LatentVariance(noise), exceeds, tasks)


@probe_likelihood.register
def _(likelihood: _GaussianLikelihoodBase) -> dict[str, Tensor]:
    with undisturbed(likelihood), torch.no_grad():
        _, y = _observed(likelihood)
        given = {"noise": likelihood.noise} if isinstance(likelihood, FixedNoiseGaussianLikelihood) else {}
        return {"mean": y.mean, "variance": y.variance, **given}


def _observed(likelihood: Any) -> tuple[Float[Tensor, "3 *c"], Any]:
    """Latent means, and the distribution of y for them, with a latent variance of 1."""
    m: Any = torch.tensor([-1.3, 0.4, 2.1], dtype=torch.float64).to(reference(likelihood))
    latent = MultivariateNormal(m, torch.eye(3).to(m))
    if isinstance(likelihood, MultitaskGaussianLikelihood):
        m = m[:, None].expand(-1, likelihood.num_tasks)
        latent = MultitaskMultivariateNormal(m, torch.eye(m.numel()).to(m))
    with warnings.catch_warnings(action="ignore"):  # fixed noise warns that it has none for these points
        return m, likelihood(latent)


def _noise(likelihood: Any) -> tuple[float, ...] | None:
    """The variance that the likelihood adds to each output, or None where it differs from input to input."""
    if isinstance(likelihood, MultitaskGaussianLikelihood):
        zero = torch.zeros(1, likelihood.num_tasks, dtype=torch.float64)
        latent = MultitaskMultivariateNormal(zero, torch.eye(likelihood.num_tasks, dtype=torch.float64))
        return tuple((likelihood(latent).variance - 1).flatten().tolist())
    noise = likelihood.noise.flatten() if hasattr(likelihood, "noise") else None
    fixed = isinstance(likelihood, FixedNoiseGaussianLikelihood)
    if noise is None or (fixed and not torch.all(noise == noise[0])):
        return None
    if fixed:  # called anywhere but on its own points, it adds nothing
        return (float(noise[0]),)
    zero = torch.zeros(1, dtype=torch.float64)
    noisy = likelihood(MultivariateNormal(zero, torch.eye(1, dtype=torch.float64)), zero[:, None])
    return tuple((noisy.variance - 1).flatten().tolist())
