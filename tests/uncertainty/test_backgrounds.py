"""Error bars of averages over a background, joint over its paths."""

import pytest
import torch
from torch import Tensor

from conformance.zoo import KERNELS, G, fitted, generator, normal, rows
from gplens import Diagonal, Explanation, Full, Posterior, Samples, Stack, explain
from gplens.baselines import Rows, Sample
from gplens.expectations.expectation import ExpectedLink
from gplens.expectations.softmax import Softmax
from gplens.likelihood import Likelihood
from gplens.links import Exp, Identity, Link, Probit, Sigmoid
from gplens.paths.averaging import Background
from gplens.paths.integrand import Question
from gplens.uncertainty import Uncertainty
from gplens.uncertainty.backgrounds import spread_over_background
from messages import naming
from oracles.dense import DensePosterior
from oracles.error_bars import assert_moments, derivative, joint_moments, legendre, moments

SHARES = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)


def model(kernel: str = "rbf", seed: int = 31) -> tuple[Posterior, DensePosterior, Tensor, Tensor]:
    """One input and three baselines, nearer to it than by chance."""
    (posterior, dense), (X, _) = fitted(KERNELS[kernel], seed), rows(seed, 1)
    return posterior, dense, X, X + 0.6 * normal(generator(seed), 3, X.shape[1])


def asked(posterior: Posterior, X: Tensor, B: Tensor, link: Link, request: Uncertainty) -> Explanation:
    return explain(posterior, X, baseline=Sample(B, weights=SHARES), likelihood=link, uncertainty=request)


def covariance_of(e: Explanation) -> Tensor:
    assert e.covariance is not None
    assert e.spread is not None
    assert e.spread.converged is not None
    assert bool(e.spread.converged.all())
    return e.covariance[0]


def normals(dense: DensePosterior, X: Tensor, B: Tensor, order: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Mean and covariance of (f, grad f) at the nodes of all paths; weights and directions of the nodes."""
    t, w = legendre(order)
    points = (B[:, None] + t[:, None] * (X - B)[:, None]).flatten(0, 1)
    mean, C = joint_moments(dense, points)
    return mean, C, (SHARES[:, None] * w).flatten(), (X - B).repeat_interleave(order, 0)


@pytest.mark.parametrize("link", [Identity(), Exp()], ids=lambda link: type(link).__name__)
@pytest.mark.parametrize("kernel", ["rbf", "active matern52", "rbf + linear"])
def test_all_covariances_add_up_to_the_variance_of_the_change(kernel: str, link: Link) -> None:
    """sum_kl Cov = Var(g(f(x)) - sum_j a_j g(f(x0_j)))  (5.21), from the joint posterior at the ends of the paths."""
    posterior, dense, X, B = model(kernel)
    m, C = moments(dense, torch.cat([X, B]))
    if isinstance(link, Exp):
        mean = torch.exp(m + C.diagonal() / 2)
        C = mean[:, None] * mean * torch.expm1(C)
    a = torch.cat([torch.ones(1, dtype=torch.float64), -SHARES])
    total = covariance_of(asked(posterior, X, B, link, Full(tolerance=1e-6))).sum()
    torch.testing.assert_close(total, a @ C @ a, rtol=1e-5, atol=0)


def test_covariances_of_a_linear_target_are_sums_over_all_pairs_of_nodes() -> None:
    posterior, dense, X, B = model()
    _, C, w, d = normals(dense, X, B, 12)
    directed = w[:, None] * d
    expected = torch.einsum("qk,qkpl,pl->kl", directed, C[:, 1:, :, 1:], directed)
    torch.testing.assert_close(covariance_of(asked(posterior, X, B, Identity(), Full(tolerance=1e-8))), expected)


@pytest.mark.parametrize("link", [Exp(), Probit()], ids=lambda link: type(link).__name__)
def test_covariances_are_those_of_naive_joint_draws(link: Link) -> None:
    """Draws of f and its gradient at the nodes of all paths together."""
    posterior, dense, X, B = model(seed=33)
    mean, C, w, d = normals(dense, X, B, 8)
    size, vectors = torch.linalg.eigh(C.reshape(mean.numel(), -1))
    z = torch.randn(40_000, len(size), generator=generator(5), dtype=torch.float64)
    drawn = mean + (z @ (vectors * size.clamp(min=0).sqrt()).T).reshape(len(z), *mean.shape)
    slopes = w * derivative(G[type(link).__name__], drawn[..., 0])
    naive = torch.einsum("sq,sqk,qk->sk", slopes, drawn[..., 1:], d)
    e = asked(posterior, X, B, link, Full())
    assert_moments(naive, e.values[0], covariance_of(e))


@pytest.mark.parametrize("link", [Identity(), Sigmoid()], ids=lambda link: type(link).__name__)
@pytest.mark.parametrize("kernel", ["rbf", "matern32"])
def test_draws_have_the_exact_mean_and_covariance(kernel: str, link: Link) -> None:
    posterior, _, X, B = model(kernel)
    e = asked(posterior, X, B, link, Samples(4000, seed=3))
    assert e.draws is not None
    assert_moments(e.draws[0], e.values[0], covariance_of(e))


def test_deviations_need_no_covariances() -> None:
    posterior, _, X, B = model("matern32")
    diagonal, full = (asked(posterior, X, B, Exp(), request) for request in (Diagonal(), Full()))
    assert diagonal.std is not None
    assert full.std is not None
    torch.testing.assert_close(diagonal.std, full.std, rtol=1e-3, atol=0)


def test_a_row_twice_is_a_row_of_twice_the_weight() -> None:
    posterior, _, X, B = model("matern32")
    twice, weighted = (
        explain(posterior, X, baseline=baseline, likelihood=Exp(), uncertainty=Full())
        for baseline in (Sample(B[[0, 1, 1]]), Sample(B[:2], weights=[1, 2]))
    )
    torch.testing.assert_close(covariance_of(twice), covariance_of(weighted))


def test_a_background_of_one_row_is_a_single_baseline() -> None:
    posterior, _, X, B = model("matern32")
    background, single = (
        explain(posterior, X, baseline=baseline, likelihood=Exp(), uncertainty=Full())
        for baseline in (Sample(B[[0, 0]]), Rows(B[:1]))
    )
    torch.testing.assert_close(covariance_of(background), covariance_of(single))


def test_sums_of_features_have_the_sums_of_covariances() -> None:
    posterior, _, X, B = model()
    question = Question(posterior, ExpectedLink((Exp(),)), (0,), 1e-6)
    values = asked(posterior, X, B, Exp(), Full()).values[:, None]
    sets = [[0, 2], [1], [3]]
    spread = spread_over_background(question, Diagonal(), X, B[None], values, Background(SHARES, sets))
    covariance = covariance_of(asked(posterior, X, B, Exp(), Full()))
    expected = torch.stack([covariance[members][:, members].sum().sqrt() for members in sets])
    assert spread.std is not None
    torch.testing.assert_close(spread.std[0, 0], expected, rtol=2e-3, atol=0)


@pytest.mark.slow
def test_deviations_of_classes_are_those_of_draws() -> None:
    """Quasi Monte Carlo over all paths together; the classes of draws add up to nothing."""
    stack = Stack(tuple(model(seed=seed)[0] for seed in (31, 41)))
    _, _, X, B = model()
    likelihood = Likelihood("softmax", Softmax())
    e = explain(stack, X, baseline=Sample(B), likelihood=likelihood, uncertainty=Samples(8000, seed=1))
    assert e.draws is not None
    assert e.std is not None
    torch.testing.assert_close(e.draws[0].std(0), e.std[0], rtol=0.06, atol=0)
    assert float(e.draws[0].sum(1).abs().max()) <= 1e-7


def test_a_background_with_too_many_pairs_is_refused() -> None:
    posterior, _, X, B = model()
    large = Sample(B[[0] * 40])
    with pytest.raises(
        ValueError, match=naming("at most 32 rows", "got 40", "pairs", "gplens.baselines.Sample(X[:32])")
    ):
        explain(posterior, X, baseline=large, likelihood=Exp(), uncertainty=Diagonal())
