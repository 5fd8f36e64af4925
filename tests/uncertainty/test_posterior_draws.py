"""Draws of attributions, and what is read off them."""

from math import sqrt

import pytest
import torch
from scipy.stats import norm

from conformance.zoo import KERNELS, G, fitted, rows
from gplens import Diagonal, Explanation, Full, Samples, explain
from gplens.baselines import Rows
from gplens.links import Exp, Identity, LaplaceTail, Link, Probit, Sigmoid
from gplens.uncertainty import Uncertainty
from messages import naming
from oracles.dense import DensePosterior
from oracles.error_bars import assert_moments, attribution_draws, quantiles

NAMES = ("a", "b", "c", "d")


def asked(link: Link, request: Uncertainty, seed: int = 81) -> tuple[Explanation, DensePosterior]:
    (posterior, dense), (X, X0) = fitted(KERNELS["rbf"], seed), rows(seed, 2)
    X0 = X0 + 0.4 * (X - X0)
    return explain(posterior, X, baseline=Rows(X0), likelihood=link, uncertainty=request, feature_names=NAMES), dense


def draws_of(e: Explanation) -> torch.Tensor:
    assert e.draws is not None
    return e.draws


def naive(e: Explanation, dense: DensePosterior, link: Link, i: int = 0, count: int = 100_000) -> torch.Tensor:
    return attribution_draws(dense, G[type(link).__name__], e.inputs[i], e.baseline[i], count, seed=9)


@pytest.mark.parametrize("link", [Identity(), Exp(), Probit(), Sigmoid()], ids=lambda link: type(link).__name__)
def test_draws_have_the_exact_mean_and_covariance(link: Link) -> None:
    e, _ = asked(link, Samples(20_000, seed=3))
    assert e.covariance is not None
    for i in range(2):
        assert_moments(draws_of(e)[i], e.values[i], e.covariance[i])


@pytest.mark.slow
@pytest.mark.parametrize("link", [Exp(), Probit(), Sigmoid()], ids=lambda link: type(link).__name__)
@pytest.mark.parametrize("joint", [True, False])
def test_draws_have_the_quantiles_of_naive_ones(link: Link, joint: bool) -> None:
    e, dense = asked(link, Samples(20_000, seed=4, joint=joint))
    expected = quantiles(naive(e, dense, link), (0.05, 0.5, 0.95))
    ranks = [(draws_of(e)[0] <= level).double().mean(0) for level in expected]
    for rank, level in zip(ranks, (0.05, 0.5, 0.95), strict=True):
        assert float((rank - level).abs().max()) <= 4 * sqrt(level * (1 - level) * (1 / 20_000 + 1 / 100_000))


def test_draws_that_are_not_joint_have_the_deviations() -> None:
    e, _ = asked(Probit(), Samples(40_000, seed=5, joint=False))
    assert e.std is not None
    assert e.covariance is None
    assert not e.joint_draws
    torch.testing.assert_close(draws_of(e).std(1), e.std, rtol=0.03, atol=1e-9)


@pytest.mark.slow
def test_a_link_without_pair_moments_gets_its_deviations_from_draws() -> None:
    """P(y > t) of a Laplace observation, whose second derivative jumps; with the standard error of the deviation."""
    link = LaplaceTail(0.3, 0.8)
    e, dense = asked(link, Diagonal())
    drawn = attribution_draws(dense, lambda f: link(f), e.inputs[0], e.baseline[0], 100_000, seed=9)
    assert e.std is not None
    assert e.std_error is not None
    naive_error = ((drawn - drawn.mean(0)) ** 2).std(0) / sqrt(len(drawn)) / (2 * drawn.std(0))
    assert bool(((e.std[0] - drawn.std(0)).abs() <= 4 * torch.hypot(naive_error, e.std_error[0])).all())
    with pytest.raises(ValueError, match=naming("Full()", "LaplaceTail(shift=0.3, scale=0.8)", "Diagonal()")):
        asked(link, Full())


def test_the_same_seed_gives_the_same_draws() -> None:
    first, again, other = (draws_of(asked(Exp(), Samples(50, seed))[0]) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first[0], first[1])


@pytest.mark.slow
def test_intervals_are_quantiles_and_not_symmetric_for_exp() -> None:
    e, dense = asked(Exp(), Samples(20_000, seed=6))
    low, high = e.interval(0.8)
    drawn = naive(e, dense, Exp())
    inside = ((drawn >= low[0]) & (drawn <= high[0])).double().mean(0)
    torch.testing.assert_close(inside, torch.full_like(inside, 0.8), rtol=0, atol=0.015)
    middle, reach = (low + high) / 2, (high - low) / 2
    assert float(((middle - e.values).abs() / reach).max()) > 0.1


@pytest.mark.parametrize("request_", [Diagonal(), Full(), Samples(20, 0)], ids=repr)
def test_gaussian_attributions_have_exact_intervals_and_signs(request_: Uncertainty) -> None:
    """Whether or not there are draws."""
    e, _ = asked(Identity(), request_)
    assert e.gaussian
    assert e.std is not None
    low, high = e.interval(0.9)
    torch.testing.assert_close(high - e.values, norm.ppf(0.95) * e.std)
    torch.testing.assert_close(e.values - low, norm.ppf(0.95) * e.std)
    torch.testing.assert_close(e.probability_positive(), torch.as_tensor(norm.sf(0, e.values, e.std)))


@pytest.mark.slow
def test_signs_sizes_and_ranks_are_those_of_naive_draws() -> None:
    e, dense = asked(Exp(), Samples(20_000, seed=7))
    drawn = naive(e, dense, Exp())
    near = {"rtol": 0, "atol": 4 * sqrt(0.25 * (1 / 20_000 + 1 / 100_000))}
    torch.testing.assert_close(e.probability_positive()[0], (drawn > 0).double().mean(0), **near)
    larger = (drawn[:, 1].abs() > drawn[:, 3].abs()).double().mean()
    torch.testing.assert_close(e.probability_larger("b", "d")[0], larger, **near)
    ranks = e.rank_probabilities().values[0]
    for r, k in ((0, 0), (0, 3), (2, 1)):
        counted = ((drawn.abs() > drawn[:, k : k + 1].abs()).sum(1) == r).double().mean()
        torch.testing.assert_close(ranks[k, r], counted, **near)
    torch.testing.assert_close(ranks.sum(0), torch.ones(4, dtype=torch.float64))
    torch.testing.assert_close(ranks.sum(1), torch.ones(4, dtype=torch.float64))


def test_statistics_say_what_they_need() -> None:
    e, _ = asked(Exp(), Full())
    for statistic in (e.interval, e.probability_positive, e.rank_probabilities, lambda: e.probability_larger("a", "b")):
        with pytest.raises(ValueError, match=naming("draws", "gplens.Samples(1000, seed=0)")):
            statistic()
    apart, _ = asked(Exp(), Samples(50, 0, joint=False))
    apart.interval()
    with pytest.raises(ValueError, match=naming("joint draws", "ranking", "gplens.Samples(1000, seed=0)")):
        apart.rank_probabilities()
    drawn, _ = asked(Exp(), Samples(50, 0))
    with pytest.raises(ValueError, match=naming("'z'", list(NAMES))):
        drawn.probability_larger("a", "z")
    with pytest.raises(ValueError, match=naming("level", 0, 1, 90.0)):
        drawn.interval(90.0)
