"""Moments far out, where probabilities are 1e-13 or 1e-200, relative to themselves; functions in any units."""

import math
import random

import mpmath as mp
import pytest
import torch
from scipy import special, stats
from torch import Tensor

from gplens.links import LaplaceTail, Link, Probit, Quadrature, QuadratureError, Sigmoid, Softplus
from messages import naming
from oracles import gaussian_moments as oracle
from seeds import fresh_seed

LOGISTIC = {"sigmoid": (Sigmoid(), oracle.SIGMOID), "softplus": (Softplus(), oracle.SOFTPLUS)}


def at(link: Link, m: float, v: float) -> list[float]:
    return [float(x) for x in link.moments(torch.tensor(m, dtype=torch.float64), torch.tensor(v, dtype=torch.float64))]


def drawn(rng: random.Random) -> tuple[float, float]:
    """m and v: in the bulk, at m = -v/2 and -v where rules meet, and far out."""
    v = rng.choice([10 ** rng.uniform(-6, 2.6), 10 ** rng.uniform(-1, 2), 2.2499, 2.2501])
    return -rng.choice([abs(rng.gauss(0, 3)), 1.5 * v * rng.random(), v / 2, v, 600 * rng.random()]), v


FIXED = [(-26.0, 5.0), (-300.0, 50.0), (-400.0, 3.0), (-100.0, 90.0), (-191.2, 382.4), (-600.0, 50.0), (-9.0, 1.9)]
"""Far out, near m = -v, at m = -v/2; the last by the rule for small deviations."""


def check_logistic(name: str, seed: int, count: int) -> None:
    """At -m and, through E s'(f) = E s'(-f), at m; the second derivative changes sign and is relative to E|g''|."""
    link, g = LOGISTIC[name]
    rng = random.Random(seed)
    for m, v in [*FIXED, *(drawn(rng) for _ in range(count))]:
        expected = [oracle.relative_expectation(k, m, v) for k in g]
        size = [*expected[:2], oracle.relative_expectation(lambda f: abs(g[2](f)), m, v)]
        for got, exact, scale in zip(at(link, m, v), expected, size, strict=True):
            assert abs(got - exact) <= 1e-11 * scale, f"{seed=} {m=} {v=}"
        right = at(link, -m, v)[2] * (-1 if name == "sigmoid" else 1)
        assert abs(right - expected[2]) <= 1e-11 * size[2], f"{seed=} m={-m} {v=}"


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGISTIC)
def test_logistic_moments_are_relative_to_themselves(name: str) -> None:
    check_logistic(name, seed=5, count=25)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGISTIC)
def test_logistic_moments_of_many_marginals_are_relative_to_themselves(name: str) -> None:
    check_logistic(name, seed=fresh_seed(), count=200)


@pytest.mark.parametrize(("m", "v"), [(5.0, 0.5), (30.0, 25.0)])
def test_the_oracle_has_both_bulks_to_the_right_of_a_step(m: float, v: float) -> None:
    """E s(f) at m and at -m add up to one, although E s'(f) comes from far left of m."""
    total = oracle.relative_expectation(oracle.sigmoid, m, v) + oracle.relative_expectation(oracle.sigmoid, -m, v)
    assert abs(total - 1) <= 1e-15


@pytest.mark.parametrize("m", [-5.0, -9.0, -20.0, -37.0])
def test_probits_are_relative_to_themselves_far_to_the_left(m: float) -> None:
    """To erfc(26) = 1e-300, where scipy's cdf ends too; Laplace's tail against mpmath."""
    assert at(Probit(), m, 0.0)[0] == pytest.approx(stats.norm.cdf(m), rel=1e-12)
    assert float(Probit()(torch.tensor(m, dtype=torch.float64))) == pytest.approx(stats.norm.cdf(m), rel=1e-12)
    assert at(Probit(noise=0.5), m, 0.7)[0] == pytest.approx(special.ndtr(m / math.sqrt(1.2)), rel=1e-12)
    exact = oracle.relative_expectation(oracle.laplace, m, 0.3)
    assert abs(at(LaplaceTail(1.5, 0.7), m, 0.3)[0] - exact) <= 1e-11 * exact


FUNCTIONS = {
    "tanh": (torch.tanh, oracle.TANH),
    "sigmoid": (torch.sigmoid, oracle.SIGMOID),
    "softplus": (lambda f: torch.logaddexp(f, torch.zeros_like(f)), oracle.SOFTPLUS),
}


def check_function(name: str, seed: int, count: int) -> None:
    """Quadrature over scale * g, |m| to 30 and any scale, relative to E|g|, E|g'| and E|g''| or E|g'|/sd."""
    g, derivatives = FUNCTIONS[name]
    rng = random.Random(seed)
    for _ in range(count):
        m, v, scale = -rng.uniform(0, 30), 10 ** rng.uniform(-3, 0.8), 10.0 ** rng.uniform(-250, 250)
        got = at(Quadrature(lambda f, s=scale: s * g(f)), m, v)
        exact = [oracle.relative_expectation(k, m, v) for k in derivatives]
        sizes = [oracle.relative_expectation(lambda f, k=k: abs(k(f)), m, v) for k in derivatives]
        sizes[2] = max(sizes[2], sizes[1] / mp.sqrt(v))
        rounding = [1e-15 * sizes[0] / min(1, v) ** (k / 2) for k in range(3)]  # 1 - tanh^2 has no more digits
        for a, b, size, floor in zip(got, exact, sizes, rounding, strict=True):
            assert abs(a / scale - b) <= 1e-10 * size + floor, f"{seed=} {m=} {v=} {scale=}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_any_scale_are_relative_to_themselves(name: str) -> None:
    check_function(name, seed=2, count=12)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_functions_of_any_scale_are_relative_to_themselves(name: str) -> None:
    check_function(name, seed=fresh_seed(), count=100)


def test_a_kink_is_refused_in_all_units() -> None:
    m, v = torch.tensor([0.3]).double(), torch.tensor([1.0]).double()
    for scale in (1e-300, 1e-30, 1e-11, 1.0, 1e300):
        with pytest.raises(QuadratureError, match=naming("m=0.3", "v=1", 1e-11)):
            Quadrature(lambda f, s=scale: s * torch.relu(f)).moments(m, v)


def saturated(f: Tensor) -> Tensor:
    return 1 - torch.tanh(f)


@pytest.mark.parametrize("g", [saturated, torch.tanh, lambda f: 1 - torch.exp(-torch.exp(-f))])
def test_a_function_that_has_lost_its_digits_is_no_error(g: object) -> None:
    """1 - tanh(18) is a few roundings: what is left of the error is theirs, and is below them."""
    m, v = torch.linspace(10, 40, 31).double(), torch.full((31,), 0.04).double()
    value = Quadrature(g).moments(m, v).value
    assert ((value - g(m)).abs() <= 0.1 * g(m).abs() + 1e-15).all()


def test_what_lies_beyond_nine_deviations_is_found() -> None:
    """Phi(1000 f) under N(-20, 1) is zero within |z| < 9, and Phi(-20) in truth."""
    got = at(Quadrature(lambda f: torch.special.erfc(-1000 * f) / 2), -20.0, 1.0)[0]
    assert got == pytest.approx(stats.norm.cdf(-20.0), rel=1e-3)
