"""What is explained is what the user's likelihood prints, or it is refused with both numbers."""

import gpytorch
import pytest
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood, PoissonLikelihood, SoftmaxLikelihood
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Normal, Poisson

from gplens import links
from gplens.adapters.gpytorch.recognition import recognise
from gplens.adapters.reading import read_likelihood


class Doubled(GaussianLikelihood):
    """Prints 2 f + 1."""

    def marginal(self, function_dist: MultivariateNormal, *args: object, **kwargs: object) -> Normal:
        return Normal(2 * function_dist.mean + 1, 1.0)


class OtherForward(BernoulliLikelihood):
    """Another forward, but the inherited closed marginal of the probit."""

    def forward(self, function_samples: Tensor, *args: object, **kwargs: object) -> Bernoulli:
        return Bernoulli(logits=2 * function_samples - 1)


class PlugIn(PoissonLikelihood):
    """Prints the rate at the mean of f."""

    def marginal(self, function_dist: MultivariateNormal, *args: object, **kwargs: object) -> Poisson:
        return self.forward(function_dist.mean)


class Tempered(SoftmaxLikelihood):
    """A softmax at another temperature."""

    def forward(self, function_samples: Tensor, *params: object, **kwargs: object) -> Categorical:
        return Categorical(logits=function_samples / 5)


@pytest.mark.parametrize(
    "likelihood",
    [Doubled(), OtherForward(), PlugIn(), Tempered(num_classes=3, mixing_weights=False)],
    ids=lambda likelihood: type(likelihood).__name__,
)
def test_a_subclass_that_prints_something_else_is_refused(likelihood: gpytorch.likelihoods.Likelihood) -> None:
    with pytest.raises(ValueError, match=r"-?[0-9.]+.*-?[0-9.]+"):
        read_likelihood(likelihood)


@pytest.mark.parametrize("k", [2, 3, 5, 6, 11])
@pytest.mark.parametrize("mixing", [True, False])
def test_a_softmax_of_any_size_is_taken(k: int, mixing: bool) -> None:
    torch.manual_seed(k)
    likelihood = SoftmaxLikelihood(num_features=k, num_classes=k, mixing_weights=mixing)
    assert read_likelihood(likelihood).latents == k


IMPOSTORS = {
    "small": lambda f: 1e-10 * torch.tanh(f),
    "small on a large offset": lambda f: 1000 + 1e-6 * torch.tanh(f),
    "period of the old probes": lambda f: f + torch.sin(8 * torch.pi * f),
    "clamped": lambda f: f.clamp(-30, 30),
}


@pytest.mark.parametrize("name", IMPOSTORS)
def test_a_function_that_resembles_a_link_is_not_taken_for_it(name: str) -> None:
    assert isinstance(recognise(IMPOSTORS[name]), links.Quadrature)


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-7, 0.0), (3e5, -2.0), (-0.4, 1e3)])
@pytest.mark.parametrize("link", [links.Identity(), links.Exp(), links.Sigmoid(), links.Softplus()], ids=repr)
def test_a_scaled_and_shifted_link_is_found_or_integrated_but_never_mistaken(
    link: links.Link, scale: float, offset: float
) -> None:
    result = recognise(lambda f: scale * link(f) + offset)
    f = torch.linspace(-7, 7, 29, dtype=torch.float64)
    assert ((result(f) - (scale * link(f) + offset)).abs() <= 1e-12 * (abs(scale) + abs(offset)) * (1 + f.exp())).all()
    inner = result.link if isinstance(result, links.Affine) else result
    assert type(inner) in (type(link), links.Quadrature)
    assert offset == 1e3 or type(inner) is type(link)
