"""What Quadrature refuses: functions with kinks and poles, float32, tolerances out of reach; or else it is right."""

import math
import re
from collections.abc import Callable

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from gplens.links import Probit, Quadrature, QuadratureError
from messages import naming

ROUGH = {
    "relu": torch.relu,
    "abs": torch.abs,
    "clamp": lambda f: f.clamp(0, 1),
    "elu": torch.nn.functional.elu,
    "step": lambda f: (f > 0).to(f.dtype),
    "sign": torch.sign,
}


def test_float32_stays_float32_and_needs_a_tolerance_it_can_hold() -> None:
    m, v = torch.tensor([0.3, -2.0]), torch.tensor([1.0, 4.0])
    with pytest.raises(ValueError, match=naming("float32", 1e-11, "float64")):
        Quadrature(torch.sigmoid).moments(m, v)
    got = Quadrature(torch.special.ndtr, tolerance=1e-4).moments(m, v)
    assert all(x.dtype == torch.float32 for x in got)
    assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(got, Probit().moments(m, v), strict=True))


@pytest.mark.parametrize("v", [1e-12, 1e-4, 0.3, 9.0, 400.0])
@pytest.mark.parametrize("g", ROUGH.values(), ids=ROUGH.keys())
def test_kinks_and_jumps_are_refused(g: Callable[[Tensor], Tensor], v: float) -> None:
    m, v = torch.tensor([0.3 * v**0.5], dtype=torch.float64), torch.tensor([v], dtype=torch.float64)
    with pytest.raises(QuadratureError, match=naming("error", 1e-11)):
        Quadrature(g).moments(m, v)


@given(m=st.floats(-30, 30), p=st.floats(-6, 2.6))
@example(m=5.0, p=0.0)
@example(m=7.0, p=0.0)
@settings(deadline=None, max_examples=60)
def test_relu_is_right_or_refused(m: float, p: float) -> None:
    """E g = m Phi(u) + sd N(u), E g' = Phi(u), E g'' = N(u)/sd, whenever moments are returned at all."""
    v = 10.0**p
    sd, u = v**0.5, m / v**0.5
    density, cdf = math.exp(-u * u / 2) / math.sqrt(2 * math.pi), math.erfc(-u / math.sqrt(2)) / 2
    try:
        got = Quadrature(torch.relu).moments(*torch.tensor([m, v], dtype=torch.float64))
    except QuadratureError:
        return
    for actual, expected in zip(got, (m * cdf + sd * density, cdf, density / sd), strict=True):
        assert abs(actual.item() - expected) < 1e-10 * max(1, abs(expected))


def test_a_refusal_names_the_worst_element_and_the_remedy() -> None:
    m, v = torch.tensor([50.0, 0.25]).double(), torch.tensor([1.0, 4.0]).double()
    with pytest.raises(QuadratureError) as failure:
        Quadrature(torch.relu).moments(m, v)
    assert re.search(naming("m=0.25", "v=4", 1, 2, 1e-11, "links.Exp()", "tolerance"), str(failure.value))
    assert isinstance(failure.value, ArithmeticError)


@pytest.mark.parametrize("g", [torch.log, torch.sqrt, lambda f: torch.exp(f**2)], ids=["log", "sqrt", "exp of square"])
def test_functions_that_are_not_finite_are_refused(g: Callable[[Tensor], Tensor]) -> None:
    m, v = torch.tensor([1.0]).double(), torch.tensor([2.0]).double()
    with pytest.raises(QuadratureError, match=naming("finite", "m=1", "v=2", "links.Exp()")):
        Quadrature(g).moments(m, v)


def test_domain_is_touched_no_further_than_the_gaussian_reaches() -> None:
    """E log f for f ~ N(100, 1) = log 100 - 1/2e4 - 3/4e8 - ..., from the moments of the series."""
    got = Quadrature(torch.log).moments(torch.tensor(100.0).double(), torch.tensor(1.0).double())
    series = math.log(100) - sum(math.prod(range(1, 2 * k, 2)) / (2 * k * 100 ** (2 * k)) for k in range(1, 6))
    assert abs(got.value - series) < 1e-10


@pytest.mark.parametrize("g", [torch.sum, lambda f: f.float(), lambda f: f > 0], ids=["sum", "cast", "bool"])
def test_g_must_be_elementwise_and_keep_the_dtype(g: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(ValueError, match=naming("g", "torch.float64", "(2, 32)", "elementwise")):
        Quadrature(g).moments(torch.zeros(2).double(), torch.ones(2).double())


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1.0, math.nan])
def test_a_tolerance_outside_of_0_to_1_is_refused(tolerance: float) -> None:
    with pytest.raises(ValueError, match=naming("tolerance", tolerance, 1e-11)):
        Quadrature(torch.sin, tolerance=tolerance)


def test_a_g_that_is_large_where_hardly_any_f_is_is_refused() -> None:
    """It is 1 within 9 deviations of m, so that a rule for this range says E g = 1; but E g = 1 + 1e60 Phi(-12)."""
    m, v = torch.tensor([12.0, 40.0], dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    g = Quadrature(lambda f: 1 + 1e60 * (f < 0).double())
    with pytest.raises(QuadratureError, match=naming(9, 12, 1)):
        g.moments(m, v)
    assert float(g.moments(m[1:], v[1:]).value) == pytest.approx(1, abs=1e-14)  # Phi(-40) is 1e-350
