"""GPyTorch's likelihoods: what they say of y given f, with a closed-form link where theirs is one (MATH 2)."""

from typing import Any

import torch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, MultitaskGaussianLikelihood, SoftmaxLikelihood
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from torch import Tensor

from gplens import links
from gplens.adapters.gpytorch.copies import frozen_copy
from gplens.adapters.gpytorch.recognise import recognise
from gplens.adapters.gpytorch.responses import check_gaussian, check_marginal, check_softmax
from gplens.adapters.gpytorch.smooth import WithoutThreshold
from gplens.adapters.gpytorch.tails import tail_of
from gplens.expectations.elementwise import ExpectedLink, LatentVariance, TotalVariance
from gplens.likelihood import Likelihood


def read_gaussian(likelihood: _GaussianLikelihoodBase) -> Likelihood:
    """y = f + noise: the identity link, whatever the noise."""
    name = type(likelihood).__name__
    copy = frozen_copy(likelihood, torch.float64)
    check_gaussian(copy, name)
    noise = _noise(copy)
    tasks = copy.num_tasks if isinstance(copy, MultitaskGaussianLikelihood) else None
    response = ExpectedLink((links.Identity(),))
    if noise is None:  # a noise of its own for each training point: unknown anywhere else
        return Likelihood(name, response, latents=tasks)

    def exceeds(t: float) -> ExpectedLink:
        return ExpectedLink(tuple(links.Probit(shift=t, noise=variance) for variance in noise))

    return Likelihood(name, response, LatentVariance(noise), exceeds, tasks)


def _noise(copy: Any) -> tuple[float, ...] | None:
    """The variance that the likelihood adds to each output, or None where it differs from input to input."""
    if isinstance(copy, MultitaskGaussianLikelihood):
        zero = torch.zeros(1, copy.num_tasks, dtype=torch.float64)
        latent = MultitaskMultivariateNormal(zero, torch.eye(copy.num_tasks, dtype=torch.float64))
        return tuple((copy(latent).variance - 1).flatten().tolist())
    noise = copy.noise.flatten() if hasattr(copy, "noise") else None
    if noise is None or (isinstance(copy, FixedNoiseGaussianLikelihood) and not torch.all(noise == noise[0])):
        return None
    if isinstance(copy, FixedNoiseGaussianLikelihood):  # called anywhere but on its own points, it adds nothing
        return (float(noise[0]),)
    zero = torch.zeros(1, dtype=torch.float64)
    noisy = copy(MultivariateNormal(zero, torch.eye(1, dtype=torch.float64)), zero[:, None])
    return tuple((noisy.variance - 1).flatten().tolist())


def read_one_dimensional(likelihood: _OneDimensionalLikelihood) -> Likelihood:
    """Any p(y|f) of one latent value, through the distribution that its `forward(f)` returns."""
    name, copy = type(likelihood).__name__, frozen_copy(likelihood, torch.float64)
    _check_elementwise(copy, name)

    def given(f: Tensor) -> Any:
        with WithoutThreshold():
            return copy.forward(f)

    def second(f: Tensor) -> Tensor:
        y = given(f)
        return y.variance + y.mean**2

    link = recognise(lambda f: given(f).mean)
    check_marginal(copy, link, name)
    variance = TotalVariance((link,), (recognise(second),))
    return Likelihood(name, ExpectedLink((link,)), variance, tail_of(given))


def read_softmax(likelihood: SoftmaxLikelihood) -> Likelihood:
    """Classes from latent functions of their own, or, with mixing weights, from mixes of all of them."""
    name, M = type(likelihood).__name__, likelihood.mixing_weights
    check_softmax(likelihood, name)
    if M is None:
        return Likelihood(name, links.Softmax(), latents=likelihood.num_classes)
    return Likelihood(name, links.MixedSoftmax(M.detach().double()), latents=likelihood.num_features)


def _check_elementwise(copy: Any, name: str) -> None:
    f = torch.zeros(3, dtype=torch.float64)
    shape = tuple(copy.forward(f).mean.shape)
    if shape != (3,):
        raise ValueError(
            f"{name}.forward() gives means of shape {shape} for latent values of shape (3,); wanted was one for "
            "each. A likelihood with a batch of parameters has to be split into one for each output."
        )
