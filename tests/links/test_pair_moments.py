"""E g^(i)(f) g^(j)(f') of every link against nested quadrature, and g' against its formula."""

from itertools import product

import mpmath as mp
import pytest
import torch
from pair_paths import WITH_PAIRS, assert_close, joint, off_diagonal
from torch import Tensor

from conformance.zoo import LINKS, LinkCase
from gplens.links import Affine, LaplaceTail, Link, Quadrature, Sigmoid, SigmoidTaylor
from oracles import gaussian_moments
from oracles import pair_moments as oracle
from rounding import assert_rounded

CORRELATIONS = (-1.0, -0.9, 0.0, 0.5, 0.999, 1.0)
MEANS = ((0.0, 0.0), (0.3, -2.0), (-4.0, 5.0), (1.5, 1.5))
MODERATE = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1e-12, 4.0), (1e-4, 1e-4), (0.3, 2.0), (4.0, 4.0))
LARGE = ((9.0, 1.0), (4.0, 400.0), (400.0, 1e-4), (100.0, 100.0))

BOUNDED = [case for case in LINKS.values() if case.bounded]
every_case = pytest.mark.parametrize("case", WITH_PAIRS, ids=repr)
bounded = pytest.mark.parametrize("case", BOUNDED, ids=repr)


def expected_moments(case: LinkCase, points: list[oracle.Case], reach: float = 11.0) -> Tensor:
    rows = [oracle.pair_moments(case.pairs, point, width=case.width, reach=reach) for point in points]
    return torch.tensor(rows, dtype=torch.float64)


@every_case
def test_pair_moments_are_those_of_nested_quadrature(case: LinkCase) -> None:
    points = [(*m, *v, r) for m, v, r in product(MEANS, MODERATE, CORRELATIONS)]
    got = off_diagonal(case.link.pair_moments(*joint(points)))
    assert_close(got, expected_moments(case, points, reach=16.0), 1e-10, link=case, points=points)


@pytest.mark.slow
@pytest.mark.parametrize("v", LARGE, ids=str)
@bounded
def test_pair_moments_of_large_variances(case: LinkCase, v: tuple[float, float]) -> None:
    points = [(0.0, 0.0, *v, 1.0), (1.5, -2.0, *v, -1.0), (0.5, -2.0, *v, -0.9)]
    got = off_diagonal(case.link.pair_moments(*joint(points)))
    assert_close(got, expected_moments(case, points), 1e-10, link=case, points=points)


@bounded
def test_pair_moments_of_the_largest_variance_and_mean(case: LinkCase) -> None:
    points = [(m, m_, 400.0, 400.0, r) for m, m_ in ((0.0, 0.5), (100.0, 70.0)) for r in (-1.0, 1.0)]
    got = off_diagonal(case.link.pair_moments(*joint(points)))
    assert_close(got, expected_moments(case, points), 1e-10, link=case, points=points)


@pytest.mark.slow
def test_quadrature_at_the_largest_variance() -> None:
    points = [(0.0, 1.5, 400.0, 400.0, 1.0)]
    got = off_diagonal(Quadrature(torch.sigmoid).pair_moments(*joint(points)))
    assert_close(got, expected_moments(LINKS["Sigmoid"], points), 1e-10, link="Quadrature(sigmoid)", points=points)


@pytest.mark.parametrize("r", [-0.9, 0.5, 1.0])
@pytest.mark.parametrize("g", [oracle.SIGMOID, oracle.SOFTPLUS], ids=["sigmoid", "softplus"])
def test_the_oracle_does_not_depend_on_its_panels(g: tuple[oracle.Function, ...], r: float) -> None:
    point = (0.3, -1.0, 9.0, 4.0, r)
    wide, narrow = oracle.pair_moments(g, point, width=4.0), oracle.pair_moments(g, point, width=1.3, reach=12.7)
    assert max(abs(a - b) for a, b in zip(wide, narrow, strict=True)) < 1e-14


@pytest.mark.slow
def test_the_oracle_against_mpmath() -> None:
    """E11 of the sigmoid by another rule, at m = 0.3, m' = -1, v = 1, v' = 0.5, r = -0.9."""
    r = -0.9
    sd, rest = mp.sqrt(0.5), mp.sqrt(0.5 * (1 - r * r))
    s1 = gaussian_moments.sigmoid1

    def integrand(z: mp.mpf, y: mp.mpf) -> mp.mpf:
        return s1(0.3 + z) * s1(-1 + r * sd * z + rest * y) * mp.npdf(z) * mp.npdf(y)

    expected = mp.quad(integrand, [-9, 0, 9], [-9, 0, 9], maxdegree=5, method="gauss-legendre")
    assert abs(oracle.pair_moments(oracle.SIGMOID, (0.3, -1.0, 1.0, 0.5, r), width=4.0)[0] - expected) < 1e-13


@pytest.mark.parametrize("v", [0.0, 1e-6, 1.0, 9.0])
def test_one_value_twice(v: float) -> None:
    """At correlation 1 and equal marginals: E s'^2, E s' s'', E s' s''', E s''^2 in one dimension (mpmath)."""
    s1, s2 = gaussian_moments.sigmoid1, gaussian_moments.sigmoid2

    def s3(f: mp.mpf) -> mp.mpf:
        return s1(f) * (1 - 6 * s1(f))

    got = off_diagonal(Sigmoid().pair_moments(*joint([(0.7, 0.7, v, v, 1.0)])))[0]
    for actual, (a, b) in zip(got, ((s1, s1), (s1, s2), (s1, s3), (s2, s2)), strict=True):
        expected = gaussian_moments.expectation(lambda f, a=a, b=b: a(f) * b(f), 0.7, v)
        assert abs(actual.item() - expected) < 1e-11


@every_case
def test_the_derivative_is_that_of_the_formula(case: LinkCase) -> None:
    """Autograd writes tanh' as 1 - tanh^2: it rounds terms of size one, however small their difference.

    The other links have closed forms; at |f| = 9 the rounding of an exponent f^2/2 is magnified by its size.
    """
    f = torch.linspace(-9, 9, 37, dtype=torch.float64).reshape(37, 1)
    expected, derivative = torch.from_numpy(case.pairs[0](f.numpy())), case.link.derivative(f)
    if isinstance(case.link, Quadrature):
        assert_rounded(derivative, expected, roundings=4)
    else:
        assert_rounded(derivative, expected, roundings=400, size=expected.abs() + 1e-3)
    assert_rounded(
        Affine(case.link, -2.0, 1.0).derivative(f), -2 * derivative, roundings=4, size=2 * expected.abs() + 2
    )


@pytest.mark.parametrize("link", [LaplaceTail(0.4, 0.7), SigmoidTaylor()], ids=repr)
def test_the_derivative_is_that_of_autograd(link: Link) -> None:
    f = torch.linspace(-3, 3, 20, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(link(f).sum(), f)
    assert torch.allclose(link.derivative(f.detach()), expected, rtol=1e-13)
