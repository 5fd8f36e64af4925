"""Nodes and weights against their definition, in many digits."""

from functools import cache

import mpmath as mp
import numpy as np
import pytest
import torch

from gplens.paths.nested import nested_rule
from gplens.paths.panels import gauss_kronrod, gauss_legendre
from gplens.rules import GaussKronrod, GaussLegendre, RiemannRight


@cache
def kronrod(n: int) -> tuple[list[mp.mpf], list[mp.mpf]]:
    """Nodes and weights on [-1, 1] from the Stieltjes polynomial: int P_n E x^k = 0 for k <= n, in 40 digits."""
    with mp.workdps(60):
        legendre = [mp.mpf(c) for c in mp.taylor(lambda x: mp.legendre(n, x), 0, n)]
        powers = [n + 1 - 2 * j for j in range(1, (n + 1) // 2 + 1)]  # E has the parity of n + 1
        tests = [k for k in range(n + 1) if (k + n + n + 1) % 2 == 0][-len(powers) :]
        system = mp.matrix([[_moment(legendre, p + k) for p in powers] for k in tests])
        right = mp.matrix([-_moment(legendre, n + 1 + k) for k in tests])
        coefficients = mp.lu_solve(system, right)
        E = [mp.mpf(0)] * (n + 2)
        E[n + 1] = mp.mpf(1)
        for p, value in zip(powers, coefficients, strict=True):
            E[p] = value
        new = mp.polyroots(E[::-1], maxsteps=500, extraprec=400)
        old = mp.polyroots(legendre[::-1], maxsteps=500, extraprec=400)
        nodes = sorted(mp.re(x) for x in new + old)
        moments = mp.matrix([mp.mpf(2) / (k + 1) if k % 2 == 0 else mp.mpf(0) for k in range(len(nodes))])
        weights = mp.lu_solve(mp.matrix([[x**k for x in nodes] for k in range(len(nodes))]), moments)
        return nodes, list(weights)


def _moment(polynomial: list[mp.mpf], power: int) -> mp.mpf:
    """Int over [-1, 1] of the polynomial times x^power."""
    return mp.fsum(c * 2 / (i + power + 1) for i, c in enumerate(polynomial) if (i + power) % 2 == 0)


def test_the_reference_has_the_published_digits_of_gk15() -> None:
    """Piessens et al., QUADPACK, 1983."""
    nodes, weights = kronrod(7)
    published = (
        "0.991455371120812639206854697526",
        "0.864864423359769072789712788641",
        "0.586087235467691130294144838259",
    )
    with mp.workdps(40):
        assert all(abs(nodes[14 - 2 * i] - mp.mpf(text)) < 1e-28 for i, text in enumerate(published))
        assert abs(weights[14] - mp.mpf("0.0229353220105292249637320080590")) < 1e-28
        assert abs(weights[7] - mp.mpf("0.209482141084727828012999174892")) < 1e-28


@pytest.mark.parametrize("count", [7, 10, 15])
def test_kronrod_nodes_and_weights_are_those_of_the_stieltjes_polynomial(count: int) -> None:
    t, w, _ = gauss_kronrod(count)
    nodes, weights = kronrod(count)
    np.testing.assert_allclose(t, [float((x + 1) / 2) for x in nodes], rtol=0, atol=2e-15)
    np.testing.assert_allclose(w, [float(x / 2) for x in weights], rtol=0, atol=2e-15)


@pytest.mark.parametrize("count", [1, 2, 5, 7, 10, 15, 20, 30])
def test_kronrod_extends_gauss(count: int) -> None:
    """Old and new nodes interlace, all weights are positive, and the Gauss weights sit on the Gauss nodes."""
    t, w, gauss = gauss_kronrod(count)
    nodes, weights = gauss_legendre(count)
    assert len(t) == 2 * count + 1
    assert (np.diff(t) > 0).all()
    assert (w > 0).all()
    np.testing.assert_allclose(t[1::2], nodes, rtol=0, atol=1e-15)
    np.testing.assert_allclose(gauss[1::2], weights, rtol=0, atol=1e-15)
    assert (gauss[::2] == 0).all()


def _error(t: np.ndarray, w: np.ndarray, degree: int) -> float:
    """Of int (2t - 1)^degree dt, which is 0 for odd degrees, and of the shifted power, which is not."""
    return abs(w @ t**degree - 1 / (degree + 1))


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
def test_gauss_is_exact_to_degree_2n_minus_1_and_no_further(count: int) -> None:
    t, w = gauss_legendre(count)
    assert all(_error(t, w, degree) < 1e-15 for degree in range(2 * count))
    if count < 8:
        assert _error(t, w, 2 * count) > 1e-13


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 15])
def test_kronrod_is_exact_to_degree_3n_plus_1(count: int) -> None:
    t, w, _ = gauss_kronrod(count)
    assert all(_error(t, w, degree) < 2e-15 for degree in range(3 * count + 2))
    if count < 5:
        first = 3 * count + 2 if count % 2 == 0 else 3 * count + 3  # an odd rule has one degree more
        assert _error(t, w, first) > 1e-13


@pytest.mark.parametrize(
    "rule", [GaussLegendre(1), GaussLegendre(16), GaussKronrod(), GaussKronrod(15), RiemannRight(37)]
)
def test_weights_sum_to_one(rule: GaussLegendre | GaussKronrod | RiemannRight) -> None:
    """A constant gradient is integrated exactly; the coarser rule's weights sum to one too."""
    t, w, coarse = rule.nodes_and_weights()
    assert abs(w.sum() - 1) < 1e-14
    assert coarse is None or abs(coarse.sum() - 1) < 1e-14
    assert (t >= 0).all()
    assert (t <= 1).all()


PATTERSON_15 = (0.99383196321275502221, 0.88845923287225699889, 0.62110294673722640294, 0.22338668642896688163)
"""The nodes that Patterson (1968) adds to seven, those above zero."""


@pytest.mark.parametrize(("count", "degree"), [(9, 13), (11, 17), (15, 23), (31, 47), (63, 95)])
def test_nested_rules_are_exact_for_the_degrees_that_are_known_of_them(count: int, degree: int) -> None:
    rule = nested_rule(count)
    t, w = (part.numpy() for part in (rule.t, rule.channels[0]))
    for power in range(degree + 1):
        np.testing.assert_allclose((w * (2 * t - 1) ** power).sum(), (1 - power % 2) / (power + 1), atol=2e-13)
    assert (w > 0).all()


def test_patterson_nodes_are_the_published_ones() -> None:
    nodes = np.sort(np.abs(2 * nested_rule(15).t[7:].numpy() - 1))[::2]
    np.testing.assert_allclose(nodes[::-1], PATTERSON_15, rtol=1e-14)


@pytest.mark.parametrize(("count", "lower"), [(31, 15), (63, 31)])
def test_a_higher_rule_keeps_the_nodes_of_the_lower(count: int, lower: int) -> None:
    assert torch.equal(nested_rule(count).t[:lower], nested_rule(lower).t)


@pytest.mark.parametrize("count", [9, 11, 15, 31])
def test_moments_of_a_polynomial_give_the_weights_of_the_rule(count: int) -> None:
    """psi = 1 has the moments (1, 0, ...): the interpolating weights are those of the rule, for every nested rule."""
    rule = nested_rule(count)
    torch.testing.assert_close(rule.moments[:, 0], rule.channels, rtol=1e-12, atol=1e-14)
