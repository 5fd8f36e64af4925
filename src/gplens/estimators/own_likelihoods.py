"""Likelihoods that GPyTorch does not have."""

from math import log, pi
from typing import Any, final

import torch
from gpytorch.likelihoods import PoissonLikelihood
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Bernoulli, NegativeBinomial, Normal, Poisson

from gplens.adapters.gpytorch.likelihoods import tail_of
from gplens.adapters.reading import read_likelihood
from gplens.expectations.expectation import ExpectedLink
from gplens.likelihood import Likelihood as Observed
from gplens.links import Affine, Square


@final
class LogPoisson(PoissonLikelihood):
    """y ~ Poisson(exp f). The rate of GPyTorch's PoissonLikelihood is softplus(f)."""

    def forward(self, function_samples: Tensor, *args: object, **kwargs: object) -> Poisson:
        return Poisson(function_samples.exp())

    def expected_log_prob(self, observations: Tensor, input: Any, *args: object, **kwargs: object) -> Tensor:
        """y m - exp(m + v/2) - log y!, exactly."""
        m, v = input.mean, input.variance
        return observations * m - torch.exp(m + v / 2) - torch.lgamma(observations + 1)


@final
class LogNegativeBinomial(_OneDimensionalLikelihood):
    """y ~ negative binomial with the mean exp f and the variance exp f + exp(2f) / size."""

    def __init__(self, size: float) -> None:
        super().__init__()
        self.log_size = torch.nn.Parameter(torch.tensor(log(size), dtype=torch.float64))

    @property
    def size(self) -> float:
        """The number that the variance divides exp(2f) by."""
        return float(self.log_size.detach().exp())

    def forward(self, function_samples: Tensor, *args: object, **kwargs: object) -> NegativeBinomial:
        return NegativeBinomial(self.log_size.exp(), logits=function_samples - self.log_size)

    def expected_log_prob(self, observations: Tensor, input: Any, *args: object, **kwargs: object) -> Tensor:
        """E log p(y|f): Gauss-Hermite for log(size + exp f), the only term that is not a polynomial of f."""
        m, v, size = input.mean, input.variance, self.log_size.exp()
        odds = lambda f: torch.nn.functional.softplus(f - self.log_size)  # noqa: E731
        y, joint = observations, self.quadrature(odds, torch.distributions.Normal(m, v.sqrt()))
        constant = torch.lgamma(y + size) - torch.lgamma(y + 1) - torch.lgamma(size)
        return constant + y * (m - self.log_size) - (y + size) * joint


@final
class Logistic(_OneDimensionalLikelihood):
    """y ~ Bernoulli(1 / (1 + exp(-f)))."""

    def forward(self, function_samples: Tensor, *args: object, **kwargs: object) -> Bernoulli:
        return Bernoulli(logits=function_samples)


@final
class SquaredScale(_OneDimensionalLikelihood):
    """y ~ N(0, f^2 + floor). gplens explains the variance of y, whose link is the square.

    With floor = 0, as in the paper, E log p(y|f) is minus infinity for every Gaussian q(f) and y != 0, because E 1/f^2
    diverges; Gauss-Hermite nodes miss the pole, and give a finite number without meaning.
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


def log_normal(y: Float[Tensor, "*b"], variance: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    """log N(y; 0, variance)."""
    return -(y**2) / (2 * variance) - (variance.log() + log(2 * pi)) / 2
