"""GPyTorch's likelihoods: what they say of y given f, with a closed-form link where theirs is one (MATH 2)."""

from collections.abc import Callable
from typing import Any

import torch
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, MultitaskGaussianLikelihood
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from torch import Tensor

from gplens import links
from gplens.adapters.gpytorch.copies import frozen_copy
from gplens.adapters.gpytorch.smooth import WithoutThreshold
from gplens.functionals import Expectation, LatentVariance, TotalVariance
from gplens.likelihood import Likelihood
from gplens.links import Link

CLOSED = (links.Identity(), links.Softplus(), links.Probit(), links.Sigmoid(), links.Exp(), links.Square())
"""Links with moments of their own. A host's mean function that is one of them, scaled and shifted, becomes it."""
PROBES = torch.linspace(-30, 30, 241, dtype=torch.float64)
SAME = 1e-9
"""Agreement at the probes, relative to 1 + |g|; torch's softplus is off by 1e-10 past its threshold of 20."""


def read_gaussian(likelihood: _GaussianLikelihoodBase) -> Likelihood:
    """y = f + noise: the identity link, whatever the noise."""
    name = type(likelihood).__name__
    copy = frozen_copy(likelihood, torch.float64)
    noise = _noise(copy)
    tasks = copy.num_tasks if isinstance(copy, MultitaskGaussianLikelihood) else None
    response = Expectation((links.Identity(),))
    if noise is None:  # a noise of its own for each training point: unknown anywhere else
        return Likelihood(name, response, latents=tasks)

    def exceeds(t: float) -> Expectation:
        return Expectation(tuple(links.Probit(shift=t, noise=variance) for variance in noise))

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
    return (float((copy(MultivariateNormal(zero, torch.eye(1, dtype=torch.float64)), zero[:, None])).variance - 1),)


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
    variance = TotalVariance((link,), (recognise(second),))
    return Likelihood(name, Expectation((link,)), variance, _tail(given))


def _check_elementwise(copy: Any, name: str) -> None:
    f = torch.zeros(3, dtype=torch.float64)
    shape = tuple(copy.forward(f).mean.shape)
    if shape != (3,):
        raise ValueError(
            f"{name}.forward() gives means of shape {shape} for latent values of shape (3,); wanted was one for "
            "each. A likelihood with a batch of parameters has to be split into one for each output."
        )


def recognise(g: Callable[[Tensor], Tensor]) -> Link:
    """The closed-form link that g is, up to scale and shift; else quadrature over g itself."""
    with torch.no_grad():
        values, zero, one = g(PROBES), g(PROBES.new_zeros(1)), g(PROBES.new_ones(1))
    for link in CLOSED:
        own, own_zero, own_one = (link(f) for f in (PROBES, PROBES.new_zeros(1), PROBES.new_ones(1)))
        scale = (one - zero) / (own_one - own_zero)
        offset = zero - scale * own_zero
        if bool(((scale * own + offset - values).abs() <= SAME * (1 + values.abs())).all()):
            return _scaled(link, float(scale), float(offset))
    return links.Quadrature(g)


def _scaled(link: Link, scale: float, offset: float) -> Link:
    if abs(scale - 1) < 1e-12 and abs(offset) < 1e-12:  # the rounding of the four probes
        return link
    return links.Affine(link, scale, offset)


def _tail(given: Callable[[Tensor], Any]) -> Callable[[float], Expectation]:
    """t -> P(y > t): from the distribution's cdf, or, for counts, from its probabilities up to t."""

    def exceeds(t: float) -> Expectation:
        example = given(torch.zeros(1, dtype=torch.float64))
        if example.support.is_discrete:
            return Expectation((recognise(lambda f: _beyond_count(given(f), t)),))
        try:
            example.cdf(torch.zeros(1, dtype=torch.float64) + t)
        except NotImplementedError:
            raise ValueError(
                f"torch has no cdf of {type(example).__name__}, which Exceeds({t:g}) needs. Write P(y > t|f) as a "
                "function g of the latent value and pass target=gplens.targets.Custom(g)."
            ) from None
        return Expectation((recognise(lambda f: 1 - given(f).cdf(torch.full_like(f, t))),))

    return exceeds


def _beyond_count(y: Any, t: float) -> Tensor:
    """1 - sum of P(y = i) for i = 0, 1, ... up to t."""
    counts = range(int(t) + 1) if t >= 0 else range(0)
    total = torch.zeros_like(y.mean)
    for i in counts:
        total = total + y.log_prob(torch.full_like(total, float(i))).exp()
    return 1 - total
