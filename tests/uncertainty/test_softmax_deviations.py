"""Class probabilities: deviations by quasi Monte Carlo over the paths, with an error of their own."""

from contextlib import nullcontext
from math import sqrt

import pytest
import torch
from torch import Tensor

from conformance.zoo import KERNELS, fitted, generator, normal, rows
from gplens import ConvergenceWarning, Diagonal, Full, Mix, Samples, Stack, explain
from gplens.baselines import Rows
from gplens.expectations.softmax import MixedSoftmax, Softmax
from gplens.likelihood import Likelihood
from gplens.paths.gradient import Question
from gplens.uncertainty import spreads
from gplens.uncertainty.draws import deviations
from gplens.uncertainty.latent_paths import PathDraws
from messages import naming
from oracles.dense import DensePosterior
from oracles.error_bars import legendre, path_draws

CLASSES, DRAWS = 3, 100_000


def model() -> tuple[Stack, list[DensePosterior], Tensor, Tensor]:
    pairs = [fitted(KERNELS["rbf"], seed) for seed in (91, 92, 93)]
    X, X0 = rows(91, 2)
    return Stack(tuple(p for p, _ in pairs)), [dense for _, dense in pairs], X, X0 + 0.3 * (X - X0)


def naive(dense: list[DensePosterior], x: Tensor, x0: Tensor, M: Tensor) -> Tensor:
    """Draws (s, c, d) of the attributions of softmax(M f)."""
    parts = [path_draws(latent, x, x0, DRAWS, seed=i, order=16) for i, latent in enumerate(dense)]
    f = torch.stack([f for f, _ in parts], 1)
    slopes = torch.stack([slope for _, slope in parts], 1)
    S = torch.softmax(torch.einsum("cl,slq->scq", M, f), 1)
    logits = torch.einsum("cl,slqd->scqd", M, slopes)
    average = torch.einsum("scq,scqd->sqd", S, logits)
    w = legendre(16)[1]
    return torch.stack([torch.einsum("sq,sqd->sd", w * S[:, c], logits[:, c] - average) for c in range(len(M))], 1)


def assert_deviations(std: Tensor, std_error: Tensor, drawn: Tensor) -> None:
    """Within four standard errors of both."""
    centred = (drawn - drawn.mean(0)) ** 2
    naive_error = centred.std(0) / sqrt(DRAWS) / (2 * drawn.std(0))
    assert bool(((std - drawn.std(0)).abs() <= 4 * torch.hypot(naive_error, std_error)).all())


@pytest.mark.slow
def test_deviations_are_those_of_naive_draws() -> None:
    stack, dense, X, X0 = model()
    e = explain(stack, X, baseline=Rows(X0), likelihood=Likelihood("softmax", Softmax()), uncertainty=Diagonal())
    assert e.std is not None
    assert e.std_error is not None
    assert e.covariance is None
    assert float((e.std_error / e.std).max()) < 0.02
    for i in range(2):
        assert_deviations(e.std[i], e.std_error[i], naive(dense, X[i], X0[i], torch.eye(3).double()))


@pytest.mark.slow
def test_deviations_of_correlated_classes_are_those_of_naive_draws() -> None:
    stack, dense, X, X0 = model()
    M = normal(generator(94), 4, 3)
    likelihood = Likelihood("softmax", Softmax())
    e = explain(Mix(stack, M), X[:1], baseline=X0[:1], likelihood=likelihood, uncertainty=Diagonal(), tolerance=1e-3)
    assert e.std is not None
    assert e.std_error is not None
    assert_deviations(e.std[0], e.std_error[0], naive(dense, X[0], X0[0], M))


@pytest.mark.slow
def test_deviations_under_mixing_weights_are_those_of_naive_draws() -> None:
    """The likelihood mixes, as GPyTorch's SoftmaxLikelihood does, rather than the process."""
    stack, dense, X, X0 = model()
    M = normal(generator(95), 4, 3)
    likelihood = Likelihood("softmax", MixedSoftmax(M))
    e = explain(stack, X[:1], baseline=X0[:1], likelihood=likelihood, uncertainty=Diagonal(), tolerance=1e-3)
    assert e.std is not None
    assert e.std_error is not None
    assert_deviations(e.std[0], e.std_error[0], naive(dense, X[0], X0[0], M))


@pytest.mark.parametrize(
    ("orders", "settled"),
    [((1, 1, 1), False), pytest.param((1, 3, 7, 15), True, marks=pytest.mark.slow)],
    ids=["too few", "enough"],
)
def test_nodes_are_added_until_draws_are_the_larger_error(
    orders: tuple[int, ...], settled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three nodes on a path of several lengthscales are too few: the spread has not converged, the values have."""
    monkeypatch.setattr(spreads, "ORDERS", orders)
    stack, dense, X, X0 = model()
    likelihood = Likelihood("softmax", Softmax())
    with nullcontext() if settled else pytest.warns(ConvergenceWarning, match=naming("standard deviations", 1)):
        e = explain(stack, X[:1], baseline=-2 * X0[:1], likelihood=likelihood, uncertainty=Diagonal())
    assert e.std is not None
    assert e.std_error is not None
    assert e.converged is not None
    assert bool(e.converged[0])
    assert e.spread is not None
    assert e.spread.converged is not None
    assert bool(e.spread.converged[0]) == settled
    if settled:
        assert_deviations(e.std[0], e.std_error[0], naive(dense, X[0], -2 * X0[0], torch.eye(3).double()))


@pytest.mark.slow
def test_the_error_of_a_deviation_is_its_spread_over_seeds() -> None:
    stack, _, X, X0 = model()
    e = explain(stack, X[:1], baseline=X0[:1], likelihood=Likelihood("softmax", Softmax()))
    question = Question(stack, Softmax(), (0, 1, 2), 1e-6)
    paths = PathDraws.on(question, X0[0], X[0], 12, full=False)
    by_seed = [deviations(paths, e.values[0], seed) for seed in range(24)]
    spread = torch.stack([std for std, _, _ in by_seed]).std(0)
    stated = torch.stack([error for _, error, _ in by_seed]).square().mean(0).sqrt()
    ratio = (spread / stated).log().mean().exp()
    assert 0.6 < float(ratio) < 1.6


@pytest.mark.slow
def test_draws_are_joint_over_classes() -> None:
    """Probabilities add up to one, so that their attributions add up to zero, in every draw."""
    stack, dense, X, X0 = model()
    request = Samples(4_000, seed=1)
    e = explain(stack, X, baseline=Rows(X0), likelihood=Likelihood("softmax", Softmax()), uncertainty=request)
    assert e.draws is not None
    assert e.std is not None
    assert float(e.draws.sum(2).abs().max()) < 1e-6
    torch.testing.assert_close(e.draws.std(1), e.std, rtol=0.08, atol=1e-6)
    drawn = naive(dense, X[0], X0[0], torch.eye(3).double())
    contrast = e.contrast(0, 2)
    assert contrast.std is not None
    assert contrast.std_error is not None
    expected = (drawn[:, 0] - drawn[:, 2]).std(0)
    assert bool(((contrast.std[0] - expected).abs() <= 5 * contrast.std_error[0] + 0.01 * expected).all())


def test_covariances_of_classes_are_refused() -> None:
    stack, _, X, X0 = model()
    with pytest.raises(ValueError, match=naming("Full()", "Softmax", "Diagonal()", "Samples(count, seed)")):
        explain(stack, X, baseline=Rows(X0), likelihood=Likelihood("softmax", Softmax()), uncertainty=Full())
