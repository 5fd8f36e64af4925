"""Mixtures over draws of hyper-parameters: against autograd of the average, and models of each draw explained alone."""

import pytest
import torch
from torch import Tensor

import gplens
from conformance.zoo import generator, normal
from gplens.adapters.reading import Reading, read_model
from gplens.baselines import Rows
from gplens.expectations.expectation import ExpectedLink
from gplens.expectations.hyperparameters import over_hyperparameters
from gplens.expectations.variances import LatentVariance, TotalVariance
from gplens.kernels import RBF
from gplens.likelihood import Likelihood
from gplens.links import Exp, Identity, Link, Quadrature, Softmax, Softplus
from gplens.processes.stack import Stack
from gplens.targets import EpistemicVariance, Latent, PredictiveVariance, Response
from messages import naming
from oracles.dense import integrated_gradient

DRAWS = (3, 1, 2)
NOISE = torch.arange(1, 7, dtype=torch.float64) / 10


class Drawn:
    """A host's model with draws of hyper-parameters."""

    def __init__(self, link: Link = Identity()) -> None:
        g = generator(0)
        X, Y = normal(g, 9, 3), normal(g, 6, 9)
        scales = 0.8 + torch.rand(6, 3, generator=g, dtype=torch.float64)
        parts = [gplens.Posterior.exact(RBF(scale), X, y, noise=0.1) for scale, y in zip(scales, Y, strict=True)]
        self.process = Stack(tuple(parts))
        counts = TotalVariance((Exp(),), (Quadrature(lambda f: f.exp() + (2 * f).exp()),))
        variance = LatentVariance(tuple(NOISE.tolist())) if link == Identity() else counts
        self.likelihood = Likelihood("drawn", ExpectedLink((link,)), variance)


@read_model.register
def _(model: Drawn, points: Tensor) -> Reading:
    return Reading(model.process, "Drawn", model.likelihood, draws=DRAWS)


def alone(model: Drawn) -> gplens.Explanation:
    return gplens.explain(
        model.process,
        X,
        baseline=Rows(X0),
        likelihood=model.likelihood,
        tolerance=1e-7,
        uncertainty=gplens.Full(tolerance=1e-7),
    )


X, X0 = normal(generator(1), 2, 3), torch.full((3,), 0.2, dtype=torch.float64)


def groups(tensor: Tensor) -> list[Tensor]:
    return list(tensor.split(list(DRAWS), dim=1))


@pytest.mark.slow
@pytest.mark.parametrize("link", [Identity(), Softplus()], ids=lambda link: type(link).__name__)
def test_it_is_the_average_with_the_total_covariance(link: Link) -> None:
    """(2.15) and (5.17)."""
    model = Drawn(link)
    e, separate = (
        gplens.explain(model, X, baseline=Rows(X0), tolerance=1e-7, uncertainty=gplens.Full(tolerance=1e-7)),
        alone(model),
    )
    values = torch.stack([part.mean(1) for part in groups(separate.values)], dim=1)
    torch.testing.assert_close(e.values, values, rtol=1e-7, atol=1e-9)
    assert e.covariance is not None
    assert separate.covariance is not None
    for o, (part, covariance) in enumerate(zip(groups(separate.values), groups(separate.covariance), strict=True)):
        between = torch.stack([torch.cov(rows.T, correction=0) for rows in part])
        torch.testing.assert_close(e.covariance[:, o], covariance.mean(1) + between, rtol=1e-6, atol=1e-9)
    diagonal = gplens.explain(model, X, baseline=Rows(X0), tolerance=1e-7, uncertainty=gplens.Diagonal(tolerance=1e-7))
    assert diagonal.std is not None
    torch.testing.assert_close(diagonal.std**2, e.covariance.diagonal(dim1=2, dim2=3), rtol=1e-6, atol=1e-9)
    assert not e.gaussian


def test_the_covariance_adds_up_to_the_variance_of_the_change_of_a_mixture() -> None:
    """(5.3) for f_s with a random s: mean of the variances of f_s(x) - f_s(x0), and the variance of their means."""
    model = Drawn()
    e = gplens.explain(model, X, baseline=Rows(X0), tolerance=1e-10, uncertainty=gplens.Full(tolerance=1e-10))
    ends = torch.stack([torch.stack([x, X0]) for x in X])
    for i, pair in enumerate(ends):
        c = torch.stack([part.c(pair, pair)[:, 0] for part in model.process.parts])
        variances = c[:, 0, 0] + c[:, 1, 1] - 2 * c[:, 0, 1]
        m = model.process.m(pair)
        for o, (v, change) in enumerate(zip(variances.split(DRAWS), (m[0] - m[1]).split(DRAWS), strict=True)):
            assert e.covariance is not None
            total = v.mean() + change.var(correction=0)
            torch.testing.assert_close(e.covariance[i, o].sum(), total, rtol=1e-7, atol=1e-10)


def marginals(model: Drawn, x: Tensor) -> tuple[Tensor, Tensor]:
    """m and v of all draws by dense algebra, for autograd."""
    each = []
    for part in model.process.parts:
        k = part.kernel(x, part.Z)
        each.append((k @ part.beta[0], 1 - ((k @ part.A.F[0].T) ** 2).sum(1)))
    m, v = zip(*each, strict=True)
    return torch.stack(m, dim=1), torch.stack(v, dim=1)


def total(variances: Tensor, means: Tensor) -> Tensor:
    """The variance of a mixture of each group of draws."""
    pairs = zip(groups(variances), groups(means), strict=True)
    return torch.stack([v.mean(1) + m.var(1, correction=0) for v, m in pairs], dim=1)


@pytest.mark.parametrize(
    ("target", "noise"), [(PredictiveVariance(), NOISE), (EpistemicVariance(), 0 * NOISE)], ids=["y", "f"]
)
def test_variances_are_those_of_a_mixture(target: gplens.targets.Target, noise: Tensor) -> None:
    """(2.16), and its gradient along the path against autograd of the formula."""
    model = Drawn()
    e = gplens.explain(model, X, baseline=Rows(X0), target=target, tolerance=1e-9)

    def variance(x: Tensor) -> Tensor:
        m, v = marginals(model, x)
        return total(v + noise, m)

    torch.testing.assert_close(e.prediction, variance(X), rtol=1e-9, atol=1e-9)
    for o in range(len(DRAWS)):
        expected = torch.stack([integrated_gradient(lambda y, o=o: variance(y)[:, o], x, X0, 40) for x in X])
        torch.testing.assert_close(e.values[:, o], expected, rtol=1e-7, atol=1e-9)


def test_the_variance_of_counts_is_that_of_a_mixture() -> None:
    """Var y = E y + Var rate for Poisson counts of rate e^f, from the moments of the log-normal rate."""
    model = Drawn(Exp())
    e = gplens.explain(model, X, baseline=Rows(X0), target=PredictiveVariance(), tolerance=1e-9)
    m, v = marginals(model, X)
    rate = torch.exp(m + v / 2)
    torch.testing.assert_close(e.prediction, total(rate + rate**2 * torch.expm1(v), rate), rtol=1e-8, atol=1e-9)
    assert e.gap.abs().max() < 1e-7 * e.prediction.abs().max()


@pytest.mark.parametrize("target", [Response(), Latent()], ids=repr)
def test_an_output_alone_is_what_it_is_among_all(target: gplens.targets.Target) -> None:
    every = gplens.explain(Drawn(), X, baseline=Rows(X0), target=target)
    single = gplens.explain(Drawn(), X, baseline=Rows(X0), target=target, outputs=[2])
    torch.testing.assert_close(single.values[:, 0], every.values[:, 2], rtol=1e-5, atol=1e-8)


@pytest.mark.slow
def test_samples_have_the_total_covariance() -> None:
    exact = gplens.explain(Drawn(), X[:1], baseline=Rows(X0), uncertainty=gplens.Full())
    e = gplens.explain(Drawn(), X[:1], baseline=Rows(X0), uncertainty=gplens.Samples(6000, seed=3))
    assert e.draws is not None
    assert exact.covariance is not None
    assert e.draws.shape == (1, 6000, 3, 3)
    for o in range(3):
        covariance, size = torch.cov(e.draws[0, :, o].T), exact.covariance[0, o].abs().max()
        assert (covariance - exact.covariance[0, o]).abs().max() < 6 * size / 6000**0.5
        assert (e.draws[0, :, o].mean(0) - e.values[0, o]).abs().max() < 5 * (size / 6000) ** 0.5


def test_a_few_samples_come_from_one_draw_after_the_other() -> None:
    e = gplens.explain(Drawn(), X[:1], baseline=Rows(X0), uncertainty=gplens.Samples(4, seed=3))
    assert e.draws is not None
    assert e.draws.shape == (1, 4, 3, 3)


def test_what_is_no_function_of_one_draw_is_refused() -> None:
    with pytest.raises(ValueError, match=naming("Softmax", "draws")):
        gplens.explain(Drawn(), X, baseline=Rows(X0), likelihood=Softmax())
    with pytest.raises(ValueError, match=naming("uncertainty")):
        gplens.explain(Drawn(), X, baseline=Rows(X0), target=EpistemicVariance(), uncertainty=gplens.Diagonal())


def test_one_draw_for_each_output_is_no_mixture() -> None:
    response = Drawn().likelihood.response
    assert over_hyperparameters(response, (1,) * 6) is response
