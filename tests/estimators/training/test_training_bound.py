"""The bound and its natural gradient, against GPyTorch's own; the least-squares start, against the closed form."""

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean, ZeroMean
from gpytorch.variational import NaturalVariationalDistribution

from gplens.estimators.gp_models import Sparse, kernel_of
from gplens.estimators.own_likelihoods import LogPoisson, SquaredScale
from gplens.estimators.training.bound import features
from gplens.estimators.training.expected import expected_log_prob
from gplens.estimators.training.q_of_u import Factored, Natural, Sites, least_squares
from gplens.estimators.training.rows import Batches, first, kmeans

RNG = torch.Generator().manual_seed(0)
X = torch.randn(40, 2, generator=RNG, dtype=torch.float64)
Y = (X[:, 0] > 0).double()


def _model(latents: int | None = None, kernels: int | None = None) -> Sparse:
    Z = X[:6] if kernels is None else X[:6].expand(kernels, -1, -1) + torch.arange(kernels)[:, None, None] / 10
    mean = ConstantMean().double() if latents is None else ZeroMean()
    return Sparse(Z.clone(), kernel_of("rbf", 2, kernels).double(), mean, latents=latents, jitter=1e-6).double()


def _q(latents: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    root = torch.randn(latents, 6, 6, generator=generator, dtype=torch.float64)
    return torch.randn(latents, 6, generator=generator, dtype=torch.float64), torch.eye(6) + root @ root.mT


@pytest.mark.parametrize("likelihood", [BernoulliLikelihood(), GaussianLikelihood(), LogPoisson()])
def test_the_bound_is_gpytorchs(likelihood: gpytorch.likelihoods.Likelihood) -> None:
    model, likelihood = _model(), likelihood.double()
    q = Factored(model, *_q(1)).gaussian()
    m, v = q.marginals(features(model, X))
    ours = expected_log_prob(likelihood, Y, m, v, RNG).mean() - q.divergence() / len(X)
    theirs = gpytorch.mlls.VariationalELBO(likelihood, model, len(X))(model.train()(X), Y)
    torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernels", [None, 3])
def test_marginals_of_several_latent_functions_are_gpytorchs(kernels: int | None) -> None:
    """Also for as many rows as latent functions, which GPyTorch mistakes for a matrix."""
    model = _model(3, kernels)
    q = Factored(model, *_q(3)).gaussian()
    for rows in (X, X[:3]):
        m, v = q.marginals(features(model, rows))
        host = model.eval()(rows)
        torch.testing.assert_close(m.T, host.mean, rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(v.T, host.variance, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("rate", [0.1, 0.7])
def test_a_natural_step_is_that_of_gpytorchs_optimiser(rate: float) -> None:
    model, likelihood, (h, P) = _model(), BernoulliLikelihood(), _q(1)
    ours = Natural(h, P)
    rows = features(model, X)
    m, v = (tensor.detach().requires_grad_() for tensor in ours.gaussian().marginals(rows))
    partials = torch.autograd.grad(expected_log_prob(likelihood, Y, m, v, RNG).sum(), (m, v))
    ours.step(rows, m, (partials[0], partials[1]), rate, 1.0)

    host = NaturalVariationalDistribution(6).double()
    host.natural_vec.data, host.natural_mat.data = h[0].clone(), -P[0] / 2
    model.strategy._variational_distribution = host
    optimizer = gpytorch.optim.NGD(host.parameters(), num_data=len(X), lr=rate)
    (-gpytorch.mlls.VariationalELBO(likelihood, model, len(X))(model.train()(X), Y)).backward()
    optimizer.step()
    torch.testing.assert_close(ours.h[0], host.natural_vec.detach(), rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(ours.P[0], -2 * host.natural_mat.detach(), rtol=1e-6, atol=1e-6)


def test_least_squares_is_the_optimum_for_gaussian_observations() -> None:
    """A natural step of rate one goes nowhere from it."""
    model, likelihood = _model(), GaussianLikelihood().double()
    noise = float(likelihood.noise.detach())
    h, P = least_squares(model, X, Sites(Y[None], torch.full_like(Y, 1 / noise)))
    q, rows = Natural(h, P), features(model, X)
    m, v = (tensor.detach().requires_grad_() for tensor in q.gaussian().marginals(rows))
    partials = torch.autograd.grad(expected_log_prob(likelihood, Y, m, v, RNG).sum(), (m, v))
    q.step(rows, m, (partials[0], partials[1]), 1.0, 1.0)
    torch.testing.assert_close(q.h, h)
    torch.testing.assert_close(q.P, P)


def test_softmax_draws_have_the_right_expectation_and_partials() -> None:
    """Averaged over many seeds, against a plain Monte Carlo with its autograd gradient."""
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=3, mixing_weights=False)
    m = torch.tensor([[0.3], [-0.5], [1.0]], dtype=torch.float64).expand(-1, 20_000).clone().requires_grad_()
    v = torch.tensor([[0.5], [2.0], [1.0]], dtype=torch.float64).expand(-1, 20_000).clone().requires_grad_()
    label = torch.ones(20_000, dtype=torch.float64)
    ours = expected_log_prob(likelihood, label, m, v, torch.Generator().manual_seed(3))
    by_m, by_v = (g.sum(1) for g in torch.autograd.grad(ours.mean(), (m, v)))
    a, b = (tensor.detach()[:, 0].clone().requires_grad_() for tensor in (m, v))
    z = torch.randn(400_000, 3, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    theirs = torch.log_softmax(a + b.sqrt() * z, dim=1)[:, 1].mean()
    their_m, their_v = torch.autograd.grad(theirs, (a, b))
    torch.testing.assert_close(ours.mean(), theirs, atol=1e-2, rtol=0)
    torch.testing.assert_close(by_m, their_m, atol=5e-3, rtol=0)
    torch.testing.assert_close(by_v, their_v, atol=5e-3, rtol=0)


def test_without_a_floor_the_papers_expectation_grows_with_the_nodes() -> None:
    """Why there is a floor: E log N(y; 0, f^2) is minus infinity, and Gauss-Hermite only looks finite."""

    def at(nodes: int, floor: float) -> float:
        f, w = np.polynomial.hermite_e.hermegauss(nodes)
        p = SquaredScale(floor).forward(torch.from_numpy(0.3 + 0.5 * f))
        return float((torch.from_numpy(w / w.sum()) * p.log_prob(torch.tensor(1.0))).sum())

    assert min(at(nodes, 0.0) for nodes in range(60, 140)) < 10 * at(20, 0.0)
    assert abs(at(100, 0.1) - at(130, 0.1)) < 1e-3


def test_every_row_is_seen_once_in_a_pass_and_in_another_order_in_the_next() -> None:
    batches = Batches(12, 4, seed=5)
    passes = [torch.cat([batches[3 * turn + i] for i in range(3)]) for turn in (0, 1)]
    assert all(rows.sort().values.tolist() == list(range(12)) for rows in passes)
    assert not torch.equal(*passes)
    assert torch.equal(Batches(12, 4, seed=5)[4], batches[4])
    assert not torch.equal(Batches(12, 4, seed=6)[4], batches[4])


def test_inducing_points_start_where_they_are_said_to() -> None:
    assert torch.equal(first(X, 5, seed=0), X[:5])
    spots = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], dtype=torch.float64)
    clusters = spots.repeat(50, 1) + 0.1 * torch.randn(150, 2, generator=RNG, dtype=torch.float64)
    Z = kmeans(clusters, 30, seed=0)
    assert torch.equal(kmeans(clusters, 30, seed=0), Z)
    assert not torch.equal(kmeans(clusters, 30, seed=1), Z)
    assert torch.cdist(Z, spots).min(1).values.max() < 0.5
    assert torch.cdist(spots, Z).min(1).values.max() < 0.2
    assert torch.equal(kmeans(spots.repeat(9, 1), 5, seed=0).unique(dim=0), spots.unique(dim=0))
    assert not torch.equal(Z.unique(dim=0), Z)  # in random order
    rare = torch.cat([spots[:2].repeat(3000, 1), spots[2:], spots[2:] + 1, spots[2:] + 2])  # few different rows
    assert len(kmeans(rare, 4, seed=0).unique(dim=0)) == len(kmeans(rare, 4, seed=0)) <= 4
