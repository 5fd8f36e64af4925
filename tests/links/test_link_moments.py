"""Every link's three moments against mpmath, over means to 100 and variances from 0 to 400."""

import mpmath as mp
import pytest
import torch

from conformance.zoo import LINKS, LinkCase
from gplens.links import Affine, Identity, Moments, Sigmoid, SigmoidTaylor, Square
from oracles import gaussian_moments as oracle
from rounding import assert_rounded

MEANS = (-100.0, -30.0, -3.0, -0.5, 0.0, 1.0, 7.0, 40.0, 100.0)
VARIANCES = [0.0, 0.3, 4.1, 400.0]
VARIANCES += [pytest.param(v, marks=pytest.mark.slow) for v in (1e-30, 1e-12, 1e-4, 1.0, 3.9, 9.0, 100.0)]

WITH_MOMENTS = [case for case in LINKS.values() if case.moments is not None]
every_case = pytest.mark.parametrize("case", WITH_MOMENTS, ids=repr)


def double(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def assert_close(got: Moments, expected: list[tuple[float, float, float]], tolerance: float) -> None:
    for actual, exact in zip(got, torch.tensor(expected, dtype=torch.float64).T, strict=True):
        error = (actual - exact).abs() / exact.abs().clamp(min=1)
        assert error.max() < tolerance, (
            f"off by {float(error.max()):.1e}. If g oscillates or changes far from zero, the panels of the oracle are "
            "too long for it: see SPLITS in tests/oracles/gaussian_moments.py"
        )


@pytest.mark.parametrize("v", VARIANCES)
@every_case
def test_moments_are_those_of_mpmath(case: LinkCase, v: float) -> None:
    m = double(*MEANS)
    expected = [oracle.moments(case.moments, mean, v) for mean in MEANS]
    assert_close(case.link.moments(m, torch.full_like(m, v)), expected, 1e-10)


@pytest.mark.parametrize("v", [2.2, 2.2499999, 2.25, 2.2500001, 2.3])
@pytest.mark.parametrize("case", [LINKS["Sigmoid"], LINKS["Softplus"]], ids=repr)
def test_logistic_moments_where_the_rules_meet(case: LinkCase, v: float) -> None:
    m = double(-2.0, 0.0, 0.7, 5.0)
    expected = [oracle.moments(case.moments, mean, v) for mean in m.tolist()]
    assert_close(case.link.moments(m, torch.full_like(m, v)), expected, 1e-12)


@pytest.mark.parametrize(("m", "v"), [(0.0, 1.0), (7.0, 400.0), (-3.0, 4.1), (1.0, 1e-12)])
@pytest.mark.parametrize("g", [oracle.softplus, oracle.sigmoid2, oracle.tail2, oracle.exp])
def test_the_oracle_does_not_depend_on_its_rule(g: oracle.Function, m: float, v: float) -> None:
    gauss, tanh_sinh = oracle.expectation(g, m, v), oracle.expectation_again(g, m, v)
    assert abs(gauss - tanh_sinh) < mp.mpf("1e-15") * max(1, abs(gauss))


@every_case
def test_calling_a_link_evaluates_g(case: LinkCase) -> None:
    expected = double(*(float(case.moments[0](mp.mpf(f))) for f in MEANS))
    assert torch.allclose(case.link(double(*MEANS)), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("v", [0.0, 0.3, 9.0])
def test_sigmoid_taylor_is_the_expansion_of_the_paper(v: float) -> None:
    """The derivatives are those of the expansion (2.9); the value is the exact one, by the same nodes."""
    m = double(-3.0, -0.5, 0.0, 1.0, 7.0)
    got = SigmoidTaylor().moments(m, torch.full_like(m, v))
    s = [[float(mp.diff(oracle.sigmoid, f, k)) for f in m.tolist()] for k in range(4)]
    assert torch.allclose(got.slope, double(*s[1]) + v / 2 * double(*s[3]), atol=1e-12)
    assert torch.allclose(got.curvature, double(*s[2]), atol=1e-12)
    assert_rounded(got.value, Sigmoid().moments(m, torch.full_like(m, v)).value, roundings=4)


@every_case
def test_affine_scales_and_shifts(case: LinkCase) -> None:
    """3 g - 2 rounds the product and the sum, once each or together."""
    m, v = double(-1.0, 0.3, 4.0), double(0.0, 1.0, 9.0)
    affine, base, g = Affine(case.link, 3.0, -2.0), case.link.moments(m, v), case.link(m)
    assert_rounded(affine(m), 3 * g - 2, roundings=4, size=3 * g.abs() + 2)
    value, slope, curvature = affine.moments(m, v)
    assert_rounded(value, 3 * base.value - 2, roundings=4, size=3 * base.value.abs() + 2)
    assert_rounded(slope, 3 * base.slope, roundings=4, size=3 * base.slope.abs())
    assert_rounded(curvature, 3 * base.curvature, roundings=4, size=3 * base.curvature.abs())


def test_links_say_whether_they_are_exact_and_need_the_variance() -> None:
    assert [case.name for case in WITH_MOMENTS if not case.link.needs_variance] == ["Identity"]
    assert all(case.link.exact for case in WITH_MOMENTS)
    assert not SigmoidTaylor().exact
    assert not Affine(SigmoidTaylor(), 2.0, 0.0).exact
    assert Affine(Sigmoid(), 2.0, 0.0).exact
    assert not Affine(Identity(), 2.0, 1.0).needs_variance
    assert Affine(Square(), 2.0, 1.0).needs_variance


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("case", [*WITH_MOMENTS, LINKS["SigmoidTaylor"], LINKS["Affine(Exp)"]], ids=repr)
def test_shape_and_dtype_are_kept(case: LinkCase, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    m, v = torch.zeros(shape, dtype=dtype), torch.full(shape, 3.0, dtype=dtype)
    assert all(x.shape == shape and x.dtype == dtype for x in case.link.moments(m, v))


@every_case
def test_float32_moments_have_the_digits_of_float32(case: LinkCase) -> None:
    m, v = torch.tensor([-3.0, 0.5, 7.0, 1.0]), torch.tensor([0.0, 1.0, 4.0, 9.0])
    expected = [oracle.moments(case.moments, *pair) for pair in zip(m.tolist(), v.tolist(), strict=True)]
    assert_close(Moments(*(x.double() for x in case.link.moments(m, v))), expected, 1e-5)
