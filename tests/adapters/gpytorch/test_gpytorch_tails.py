"""P(y > t | f) of counts: against scipy and mpmath, with derivatives, in memory that does not grow with t."""

import random

import gpytorch.likelihoods as lik
import mpmath as mp
import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor
from torch.distributions import Binomial, Geometric, NegativeBinomial

from gplens.adapters.gpytorch.beta_tail import CountDerivatives
from gplens.adapters.gpytorch.tails import tail_probability
from gplens.links.moments.derivatives import differentiate
from seeds import fresh_seed


def exact(t: int, b: float, p: float) -> list[mp.mpf]:
    """P(y > t) in 320 digits, one minus a finite sum, and three derivatives in b by differences."""
    with mp.workdps(320):
        p_, h = mp.mpf(p), mp.mpf(b) * mp.mpf(10) ** -10

        def tail(x: mp.mpf) -> mp.mpf:
            return 1 - mp.fsum(mp.rf(x, k) / mp.factorial(k) * p_**k * (1 - p_) ** x for k in range(t + 1))

        v = [tail(mp.mpf(b) + k * h) for k in (-2, -1, 0, 1, 2)]
        third = (v[4] - 2 * v[3] + 2 * v[1] - v[0]) / (2 * h**3)
        return [v[2], (v[3] - v[1]) / (2 * h), (v[3] - 2 * v[2] + v[1]) / h**2, third]


def check_derivatives(t: int, b: float, p: float) -> None:
    """Relative to the value, and to the derivatives in units of b, down to 1e-250."""
    expected = exact(t, b, p)
    if min(expected[0], 1 - expected[0]) < 1e-250:
        return
    derivatives = CountDerivatives(t + 1.0, np.array([b]), p)
    assert abs(float(derivatives.value[0]) - expected[0]) <= 1e-12 * expected[0], f"{t=} {b=} {p=}"
    size = max(abs(expected[k]) * mp.mpf(b) ** k for k in (1, 2, 3))
    for k in (1, 2, 3):
        error = abs(float(derivatives.by_order[k - 1, 0]) - expected[k]) * mp.mpf(b) ** k
        assert error <= 1e-10 * size, f"{t=} {b=} {p=} {k=}"


def check_counts(seed: int, count: int) -> None:
    rng = random.Random(seed)
    for _ in range(count):
        t, b = rng.choice([0, 1, 3, 10, 30, 100]), 10 ** rng.uniform(-6, 4)
        p = rng.choice([rng.random(), 10 ** rng.uniform(-5, -0.01), 1 - 10 ** rng.uniform(-6, -0.3)])
        check_derivatives(t, b, p)


def test_derivatives_in_the_count_are_those_of_mpmath() -> None:
    check_counts(seed=0, count=20)


@pytest.mark.parametrize(("t", "b", "p"), [(10, 5e-5, 1 - 4e-6), (0, 5e-4, 1 - 6e-6), (100, 5e-3, 1 - 9e-6)])
def test_derivatives_in_a_small_count(t: int, b: float, p: float) -> None:
    """Where the density of log(u / (1 - u)) falls from p on, and yet most of the mass lies there."""
    check_derivatives(t, b, p)


@pytest.mark.slow
def test_derivatives_in_many_counts_are_those_of_mpmath() -> None:
    check_counts(seed=fresh_seed(), count=300)


F = torch.linspace(-30, 8, 39).double()


@pytest.mark.parametrize("t", [-1.0, 0.0, 2.5, 40.0, 3000.0])
@pytest.mark.parametrize("failures", [False, True])
def test_the_tail_of_a_negative_binomial_is_that_of_scipy(t: float, failures: bool) -> None:
    likelihood = lik.NegativeBinomialLikelihood(num_failures_param=failures).double()
    likelihood.probs = 0.3
    tail, _ = tail_probability(likelihood.forward, t)
    y = likelihood.forward(F)
    p = float(likelihood.probs.detach())
    expected = stats.nbinom.sf(t, y.total_count.detach().numpy(), 1 - p)
    np.testing.assert_allclose(tail(F).detach().numpy(), expected, rtol=1e-9, atol=1e-290)


def in_odds(f: Tensor) -> NegativeBinomial:
    return NegativeBinomial(torch.full_like(f, 3.5), probs=torch.sigmoid(f))


def in_both(f: Tensor) -> NegativeBinomial:
    return NegativeBinomial(torch.exp(f / 9), probs=torch.sigmoid(f))


def binomial(f: Tensor) -> Binomial:
    return Binomial(20, probs=torch.sigmoid(f))


def geometric(f: Tensor) -> Geometric:
    return Geometric(probs=torch.sigmoid(f))


@pytest.mark.parametrize("given", [in_odds, in_both, binomial, geometric])
def test_derivatives_in_the_latent_value_are_those_of_the_plain_sum(given: object) -> None:
    """By autograd through one minus all probabilities, whose graph grows with t; and by scipy, for the values."""
    f, t = torch.linspace(-3, 3, 13).double(), 7

    def plain(f: Tensor) -> Tensor:
        return 1 - sum(given(f).log_prob(torch.full_like(f, float(i))).exp() for i in range(t + 1))

    tail, _ = tail_probability(given, float(t))
    for got, expected in zip(differentiate(tail, f), differentiate(plain, f), strict=True):
        assert (got - expected).abs().max() <= 1e-9 * max(1.0, float(expected.abs().max()))


def test_a_tail_in_the_odds_is_relative_to_itself() -> None:
    f = torch.tensor([-20.0, -5.0, 0.0, 3.0]).double()
    tail, _ = tail_probability(in_odds, 30.0)
    expected = [mp.betainc(31, 3.5, 0, 1 / (1 + mp.exp(-x)), regularized=True) for x in f.tolist()]
    np.testing.assert_allclose(tail(f).numpy(), [float(x) for x in expected], rtol=1e-12)
