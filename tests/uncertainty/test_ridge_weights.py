"""Weights of pairs of nodes: integrals of polynomials and of odd powers of |s - t|, against fractions."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from gplens.paths.panels import gauss_legendre
from gplens.uncertainty.ridge import DEGREES, ridge_weights


def exact(i: int, j: int) -> float:
    """int int (s + t)^i |s - t|^j ds dt over the unit square: twice the triangle t < s, where s^a t^b are fractions."""
    total = Fraction(0)
    for a, b in product(range(i + 1), range(j + 1)):
        power = i - a + j - b  # of s
        total += Fraction(comb(i, a) * comb(j, b) * (-1) ** b, (a + b + 1) * (power + a + b + 2))
    return float(2 * total)


@pytest.mark.parametrize("count", DEGREES)
def test_powers_up_to_the_degrees_are_exact(count: int) -> None:
    """A few of all powers, those of the largest degrees among them."""
    (t, _), W, (even, odd) = gauss_legendre(count), ridge_weights(count), DEGREES[count]
    last_odd = odd if odd % 2 else odd - 1
    for i, j in ((0, 0), (even, 0), (0, even - even % 2), (1, 2), (0, 1), (odd - 1, 1), (odd - last_odd, last_odd)):
        total = (W * (t[:, None] + t) ** i * np.abs(t[:, None] - t) ** j).sum()
        assert abs(total - exact(i, j)) <= 1e-12 * (1 + exact(i, j)), (i, j)


@pytest.mark.parametrize("count", DEGREES)
def test_weights_are_symmetric_and_hardly_negative(count: int) -> None:
    """Rounding is multiplied by the sum of their sizes."""
    W = ridge_weights(count)
    np.testing.assert_array_equal(W, W.T)
    np.testing.assert_allclose(W.sum(), 1, rtol=1e-13)
    assert np.abs(W).sum() <= 25


def test_a_product_rule_is_not_exact_on_the_ridge() -> None:
    """What the weights are for: |s - t| is off by 0.6 % with twelve nodes."""
    t, w = gauss_legendre(12)
    off = (np.outer(w, w) * np.abs(t[:, None] - t)).sum() * 3 - 1
    assert 1e-3 < abs(off) < 1e-2
