"""Likelihoods that GPyTorch does not have, and E log p(y|f), which training maximises."""

from functools import singledispatch
from math import log, pi
from typing import Any, final

import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import Likelihood, PoissonLikelihood, SoftmaxLikelihood
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from jaxtyping import Float
from linear_operator.operators import DiagLinearOperator
from torch import Tensor
from torch.distributions import Bernoulli, Normal, Poisson

from gplens.adapters.gpytorch.likelihoods import tail_of
from gplens.adapters.reading import read_likelihood
from gplens.expectations.elementwise import ExpectedLink
from gplens.likelihood import Likelihood as Observed
from gplens.links import Affine, Square

DRAWS = 8
"""Draws of the latent values of each row for the softmax, four and their mirror images, new ones in every step."""


@final
class LogPoisson(PoissonLikelihood):
    """y ~ Poisson(exp f). GPyTorch's own takes softplus f."""

    def forward(self, function_samples: Tensor, *args: object, **kwargs: object) -> Poisson:
        return Poisson(function_samples.exp())

    def expected_log_prob(self, observations: Tensor, input: Any, *args: object, **kwargs: object) -> Tensor:
        """y m - exp(m + v/2) - log y!, exactly."""
        m, v = input.mean, input.variance
        return observations * m - torch.exp(m + v / 2) - torch.lgamma(observations + 1)


@final
class Logistic(_OneDimensionalLikelihood):
    """y ~ Bernoulli(1 / (1 + exp(-f)))."""

    def forward(self, function_samples: Tensor, *args: object, **kwargs: object) -> Bernoulli:
        return Bernoulli(logits=function_samples)


@final
class SquaredScale(_OneDimensionalLikelihood):
    """y ~ N(0, f^2 + floor). What gplens explains is the variance of y, whose link is the square.

    With floor = 0, as in the paper, E log p(y|f) is minus infinity for every Gaussian q(f) and y != 0, because E 1/f^2
    diverges; Gauss-Hermite nodes miss the pole, so that they give a finite number that means nothing.
    """

    floor: Tensor

    def __init__(self, floor: float) -> None:
        super().__init__()
        self.register_buffer("floor", torch.tensor(floor, dtype=torch.float64))

    def forward(self, function_samples: Tensor, *args: object, **kwargs: object) -> Normal:
        variance = function_samples**2 + self.floor
        return Normal(torch.zeros_like(variance), variance.sqrt())


@read_likelihood.register
def _(likelihood: SquaredScale) -> Observed:
    """The response is the variance of y, since E y is zero for all inputs."""
    variance = ExpectedLink((Affine(Square(), 1.0, float(likelihood.floor)),))
    return Observed(type(likelihood).__name__, variance, variance, tail_of(likelihood.forward))


@singledispatch
def expected_log_prob(
    likelihood: Likelihood,
    y: Float[Tensor, " b"],
    m: Float[Tensor, "c b"],
    v: Float[Tensor, "c b"],
    generator: torch.Generator,
    draws: int = DRAWS,
) -> Float[Tensor, " b"]:
    """E log p(y|f) of each row, f ~ N(m, v), by the likelihood's own method: closed form or Gauss-Hermite."""
    f = MultivariateNormal(m[0], DiagLinearOperator(v[0]))
    return likelihood.expected_log_prob(y, f)


@expected_log_prob.register
def _(
    likelihood: SoftmaxLikelihood,
    y: Float[Tensor, " b"],
    m: Float[Tensor, "c b"],
    v: Float[Tensor, "c b"],
    generator: torch.Generator,
    draws: int = DRAWS,
) -> Float[Tensor, " b"]:
    """By draws. The gradient is E d log p / df and 1/2 E d2 log p / df2 (2.1), which varies less than autograd's."""
    with torch.no_grad():
        z = torch.randn(draws // 2, *m.shape, generator=generator, dtype=m.dtype)
        f = m + v.sqrt() * torch.cat([z, -z])
        log_p, label = torch.log_softmax(f, dim=1), y.long()[None]
        value = log_p.gather(1, label.expand(draws, 1, -1)).mean(0)[0]
        p = log_p.exp()
        by_m = torch.zeros_like(m).scatter_(0, label, 1) - p.mean(0)
        by_v = -(p * (1 - p)).mean(0) / 2
    slopes = by_m * (m - m.detach()) + by_v * (v - v.detach())  # zero, with these partials as its gradient
    return value + slopes.sum(0)


def log_normal(y: Float[Tensor, "*b"], variance: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    """log N(y; 0, variance)."""
    return -(y**2) / (2 * variance) - (variance.log() + log(2 * pi)) / 2
