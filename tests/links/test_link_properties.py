"""Identities that hold for every m and v, drawn by hypothesis."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.zoo import LINKS
from gplens.links import LaplaceTail, Link, Moments, Probit, Sigmoid, Softplus
from rounding import assert_rounded

means = st.floats(-100, 100)
variances = st.one_of(st.just(0.0), st.floats(0, 400), st.floats(-30, 0).map(lambda p: 10.0**p))

CLOSED = [case.link for case in LINKS.values() if case.closed] + [Probit(shift=-1.0, noise=0.3), LaplaceTail(-1.0, 0.6)]


def at(link: Link, m: float, v: float) -> Moments:
    return link.moments(torch.tensor(m, dtype=torch.float64), torch.tensor(v, dtype=torch.float64))


K = torch.arange(-3, 4, dtype=torch.float64)
CENTRAL = torch.tensor([-1, 9, -45, 0, 45, -9, 1], dtype=torch.float64) / 60
"""The first derivative by central differences of sixth order, times the step."""


@given(m=means, v=variances)
def test_sigmoid_reflects(m: float, v: float) -> None:
    """E s(f) + E s(-f) = 1; s' is even, s'' is odd."""
    here, there = at(Sigmoid(), m, v), at(Sigmoid(), -m, v)
    assert abs(here.value + there.value - 1) < 1e-14
    assert abs(here.slope - there.slope) < 1e-14
    assert abs(here.curvature + there.curvature) < 1e-14


@given(m=means, v=variances)
def test_softplus_reflects(m: float, v: float) -> None:
    """E softplus(f) - E softplus(-f) = m."""
    difference = at(Softplus(), m, v).value - at(Softplus(), -m, v).value
    assert abs(difference - m) < 1e-13 * max(1, abs(m))


@given(m=means, v=variances)
def test_softplus_integrates_sigmoid(m: float, v: float) -> None:
    """Both average the same numbers, of size one, over the same nodes."""
    softplus, sigmoid = at(Softplus(), m, v), at(Sigmoid(), m, v)
    assert_rounded(softplus.slope, sigmoid.value, roundings=8)
    assert_rounded(softplus.curvature, sigmoid.slope, roundings=8)


@given(m=means, v=variances, up=st.floats(0, 10))
@pytest.mark.parametrize("link", [Sigmoid(), Softplus(), Probit()], ids=repr)
def test_value_increases_with_the_mean(link: Link, m: float, v: float, up: float) -> None:
    assert at(link, m + up, v).value >= at(link, m, v).value - 1e-13
    assert at(link, m, v).slope >= 0


@given(m=means, v=variances)
@pytest.mark.parametrize("link", [Sigmoid(), Probit()], ids=repr)
def test_probabilities_stay_in_the_unit_interval(link: Link, m: float, v: float) -> None:
    assert 0 <= at(link, m, v).value <= 1 + 1e-15


@given(m=means, v=variances)
def test_softplus_lies_above_its_bounds(m: float, v: float) -> None:
    """Jensen: E softplus(f) >= softplus(m) >= max(m, 0)."""
    value = at(Softplus(), m, v).value
    assert value >= Softplus()(torch.tensor(m, dtype=torch.float64)) - 1e-12


@given(m=st.floats(-30, 30), v=variances)
@pytest.mark.parametrize("link", [Sigmoid(), Softplus()], ids=repr)
def test_slope_is_the_derivative_in_the_mean(link: Link, m: float, v: float) -> None:
    numeric = link.moments(m + 0.04 * K, torch.full_like(K, v)).value @ CENTRAL / 0.04
    assert abs(numeric - at(link, m, v).slope) < 1e-9


@given(m=st.floats(-30, 30), v=st.floats(0.2, 400))
@pytest.mark.parametrize("link", [Sigmoid(), Softplus()], ids=repr)
def test_half_the_curvature_is_the_derivative_in_the_variance(link: Link, m: float, v: float) -> None:
    numeric = link.moments(torch.full_like(K, m), v + 0.05 * K).value @ CENTRAL / 0.05
    assert abs(numeric - at(link, m, v).curvature / 2) < 1e-7


@given(m=st.floats(-10, 10), v=st.floats(1e-6, 400))
@pytest.mark.parametrize("link", CLOSED, ids=repr)
def test_closed_forms_against_autograd(link: Link, m: float, v: float) -> None:
    mean = torch.tensor(m, dtype=torch.float64, requires_grad=True)
    variance = torch.tensor(v, dtype=torch.float64, requires_grad=True)
    value, slope, curvature = link.moments(mean, variance)
    dm, dv = torch.autograd.grad(value, (mean, variance), allow_unused=True, materialize_grads=True)
    assert torch.allclose(slope, dm, rtol=1e-12, atol=1e-14)
    assert torch.allclose(curvature / 2, dv, rtol=1e-12, atol=1e-14)


@given(seed=st.integers(0, 2**31), count=st.integers(1, 40))
@settings(max_examples=20)
@pytest.mark.parametrize("link", [Sigmoid(), Softplus()], ids=repr)
def test_elements_do_not_depend_on_their_neighbours(link: Link, seed: int, count: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    m = torch.randn(count, generator=generator, dtype=torch.float64)
    v = 5 * torch.rand(count, generator=generator, dtype=torch.float64)
    together = link.moments(m, v)
    for i in range(count):
        for whole, alone in zip(together, link.moments(m[i], v[i]), strict=True):
            assert abs(whole[i] - alone) < 1e-14
