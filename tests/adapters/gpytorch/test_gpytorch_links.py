"""Which link each likelihood is read as, and that a function which is almost one of them is not taken for it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from gpytorch import likelihoods as lik
from gpytorch_parts import ExpPoisson, LogisticBernoulli, SaturatingPoisson
from torch import Tensor

from gplens import links
from gplens.adapters.gpytorch.recognition import recognise
from gplens.adapters.reading import read_likelihood
from gplens.expectations.expectation import ExpectedLink
from gplens.expectations.variances import ConditionalVariance, LatentVariance, TotalVariance

EVERY_LIKELIHOOD: list[tuple[Callable[[], Any], type[links.Link], type[links.Link] | None]] = [
    (lik.GaussianLikelihood, links.Identity, None),
    (lambda: lik.FixedNoiseGaussianLikelihood(torch.ones(3)), links.Identity, None),
    (lambda: lik.MultitaskGaussianLikelihood(num_tasks=2), links.Identity, None),
    (lik.BernoulliLikelihood, links.Probit, None),
    (lik.PoissonLikelihood, links.Softplus, None),
    (lik.NegativeBinomialLikelihood, links.Softplus, None),
    (lambda: lik.NegativeBinomialLikelihood(num_failures_param=True), links.Affine, links.Softplus),
    (lik.BetaLikelihood, links.Affine, links.Sigmoid),
    (lik.StudentTLikelihood, links.Identity, None),
    (lik.LaplaceLikelihood, links.Identity, None),
    (ExpPoisson, links.Exp, None),
    (LogisticBernoulli, links.Sigmoid, None),
    (SaturatingPoisson, links.Quadrature, None),
]
"""A likelihood, the link that it is read as, and the link inside an Affine one."""


def trained(likelihood: Any) -> Any:
    """With parameters away from their defaults."""
    draw = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in likelihood.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=draw)
    return likelihood


def link_of(likelihood: Any) -> links.Link:
    response = read_likelihood(likelihood).response
    assert isinstance(response, ExpectedLink)
    return response.links[0]


@pytest.mark.parametrize(("make", "kind", "inner"), EVERY_LIKELIHOOD)
def test_each_likelihood_is_read_as_its_own_link(
    make: Callable[[], Any], kind: type[links.Link], inner: type[links.Link] | None
) -> None:
    link = link_of(trained(make()))
    assert type(link) is kind
    if isinstance(link, links.Affine):
        assert type(link.link) is inner


@pytest.mark.parametrize(("make", "kind", "inner"), EVERY_LIKELIHOOD[3:])
def test_the_link_is_the_mean_of_forward(
    make: Callable[[], Any], kind: type[links.Link], inner: type[links.Link] | None
) -> None:
    likelihood = trained(make()).double()
    f = torch.linspace(-12, 12, 97, dtype=torch.float64)
    subject = likelihood.forward(f).mean
    assert ((link_of(likelihood)(f) - subject).abs() <= 1e-12 * (1 + subject.abs())).all()


def test_the_variance_of_a_student_t_is_a_constant_beside_that_of_f() -> None:
    likelihood = trained(lik.StudentTLikelihood()).double()
    variance = read_likelihood(likelihood).total_variance()
    assert isinstance(variance, ConditionalVariance)
    assert variance.latent == LatentVariance()
    expected = likelihood.forward(torch.zeros(1, dtype=torch.float64)).variance.item()
    f = torch.linspace(-1e6, 1e6, 5, dtype=torch.float64)
    assert variance.conditional(f).tolist() == pytest.approx([expected] * 5, rel=1e-12)


def test_the_second_moment_of_a_class_is_its_probability() -> None:
    variance = read_likelihood(lik.BernoulliLikelihood()).total_variance()
    assert isinstance(variance, TotalVariance)
    assert variance.second == (links.Probit(),)


IMPOSTORS: dict[str, Callable[[Tensor], Tensor]] = {
    "softplus with another sharpness": lambda f: torch.nn.functional.softplus(f, beta=1.01),
    "probit of a scaled value": lambda f: torch.special.ndtr(1.001 * f),
    "shifted sigmoid": lambda f: torch.sigmoid(f - 0.001),
    "logistic approximation of the probit": lambda f: torch.sigmoid(1.702 * f),
    "exp with another rate": lambda f: torch.exp(0.999 * f),
    "shifted square": lambda f: (f - 0.01) ** 2,
    "identity that bends": lambda f: f + 1e-6 * torch.sin(f),
    "identity with a bump between the integers": lambda f: f + 1e-3 * torch.exp(-(((f - 0.4) / 0.1) ** 2)),
    "softplus plus a trace of sigmoid": lambda f: torch.logaddexp(f, torch.zeros_like(f)) + 1e-5 * torch.sigmoid(f),
    "relu": torch.relu,
    "tanh": torch.tanh,
}


@pytest.mark.parametrize("g", IMPOSTORS.values(), ids=IMPOSTORS.keys())
def test_a_function_that_is_almost_a_link_is_not_taken_for_it(g: Callable[[Tensor], Tensor]) -> None:
    """tanh f = 2 sigmoid(2 f) - 1 is no affine image of the sigmoid itself."""
    assert type(recognise(g)) is links.Quadrature


@pytest.mark.parametrize(
    ("g", "kind"),
    [
        (lambda f: 3 * torch.sigmoid(f) - 1, links.Sigmoid),
        (lambda f: 2 - torch.special.ndtr(f), links.Probit),
        (lambda f: 0.5 * torch.exp(f) + 4, links.Exp),
        (lambda f: 7 - 2 * f, links.Identity),
    ],
)
def test_scaled_and_shifted_links_are_recognised(g: Callable[[Tensor], Tensor], kind: type[links.Link]) -> None:
    link = recognise(g)
    assert isinstance(link, links.Affine)
    assert type(link.link) is kind
    f = torch.linspace(-5, 5, 33, dtype=torch.float64)
    assert ((link(f) - g(f)).abs() <= 1e-13 * (1 + g(f).abs())).all()


def test_a_constant_mean_is_explained_by_nothing() -> None:
    link = recognise(lambda f: torch.full_like(f, 2.5))
    m = torch.tensor([0.3], dtype=torch.float64)
    value, slope, curvature = link.moments(m, m)
    assert float(value) == pytest.approx(2.5, abs=1e-12)
    assert float(slope) == float(curvature) == pytest.approx(0, abs=1e-12)
