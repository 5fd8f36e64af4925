"""Quadrature against closed forms and mpmath; what it must refuse; what it must leave alone."""

import math
from collections.abc import Callable

import gaussian_oracle as oracle
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from gplens.links import Exp, Identity, Link, Probit, Quadrature, QuadratureError, Square
from gplens.links.quadrature import BLOCK

MEANS = torch.tensor([-100, -30, -3, -0.5, 0, 1, 7, 40, 100], dtype=torch.float64)
VARIANCES = torch.tensor([0, 1e-30, 1e-12, 1e-8, 1e-4, 0.3, 1, 3.9, 4.1, 9, 100, 400], dtype=torch.float64)


def grid(largest: float = 400) -> tuple[Tensor, Tensor]:
    m, v = torch.meshgrid(MEANS, VARIANCES[largest >= VARIANCES], indexing="ij")
    return m, v


def assert_close(got: tuple[Tensor, ...], wanted: tuple[Tensor, ...]) -> None:
    for actual, expected in zip(got, wanted, strict=True):
        assert ((actual - expected).abs() / expected.abs().clamp(min=1)).max() < 1e-10


@pytest.mark.parametrize(
    ("g", "link", "largest"),
    [
        (torch.special.ndtr, Probit(), 400),
        (torch.exp, Exp(), 9),
        (torch.square, Square(), 400),
        (lambda f: f, Identity(), 400),
    ],
    ids=["ndtr", "exp", "square", "identity"],
)
def test_closed_forms(g: Callable[[Tensor], Tensor], link: Link, largest: float) -> None:
    assert_close(Quadrature(g).moments(*grid(largest)), link.moments(*grid(largest)))


@pytest.mark.parametrize(
    ("g", "derivatives"),
    [
        (torch.sigmoid, oracle.SIGMOID),
        (lambda f: torch.logaddexp(f, torch.zeros_like(f)), oracle.SOFTPLUS),
        (lambda f: torch.nn.functional.softplus(f, threshold=40), oracle.SOFTPLUS),
        (torch.tanh, oracle.TANH),
    ],
    ids=["sigmoid", "softplus", "torch softplus", "tanh"],
)
def test_bounded_and_linear_growth(g: Callable[[Tensor], Tensor], derivatives: tuple) -> None:
    pairs = [(m, v) for m in (-30.0, -0.5, 1.0, 100.0) for v in (0.0, 1e-12, 0.3, 4.1, 100.0, 400.0)]
    m, v = torch.tensor(pairs, dtype=torch.float64).T
    wanted = torch.tensor([oracle.moments(derivatives, *pair) for pair in pairs], dtype=torch.float64).T
    assert_close(Quadrature(g).moments(m, v), tuple(wanted))


@pytest.mark.parametrize("frequency", [0.1, 1.0, 1.25, 3.0])
def test_sine(frequency: float) -> None:
    """E sin(wf) = e^(-w^2 v/2) sin(wm). At w sd near 25 nested grids would agree on an alias."""
    m, v = grid()
    damped = torch.exp(-(frequency**2) * v / 2)
    sin, cos = torch.sin(frequency * m), torch.cos(frequency * m)
    wanted = (damped * sin, frequency * damped * cos, -(frequency**2) * damped * sin)
    assert_close(Quadrature(lambda f: torch.sin(frequency * f)).moments(m, v), wanted)


@given(phase=st.floats(-4, 4), sd=st.floats(0.1, 120))
@example(phase=1.0, sd=8 * math.pi)
@settings(deadline=None)
def test_sine_is_never_aliased(phase: float, sd: float) -> None:
    m, v = torch.tensor(phase, dtype=torch.float64), torch.tensor(sd**2, dtype=torch.float64)
    assert abs(Quadrature(torch.sin).moments(m, v).value - math.exp(-(sd**2) / 2) * math.sin(phase)) < 1e-10


def test_polynomials() -> None:
    """f^4 - 2f:  E = m^4 + 6m^2 v + 3v^2 - 2m,  E g' = 4(m^3 + 3mv) - 2,  E g'' = 12(m^2 + v)."""
    m, v = grid()
    wanted = (m**4 + 6 * m**2 * v + 3 * v**2 - 2 * m, 4 * (m**3 + 3 * m * v) - 2, 12 * (m**2 + v))
    assert_close(Quadrature(lambda f: f**4 - 2 * f).moments(m, v), wanted)


def test_odd_polynomial_errors_are_relative_to_the_size_of_g() -> None:
    """E f^5 = 0 at m = 0, out of terms of 20^5: the error is measured against E|g|."""
    m, v = torch.zeros(1, dtype=torch.float64), torch.full((1,), 400.0, dtype=torch.float64)
    got = Quadrature(lambda f: f**5).moments(m, v)
    assert abs(got.value) < 1e-10 * 20**5
    assert abs(got.slope / (15 * 400**2) - 1) < 1e-10


@pytest.mark.parametrize("g", [torch.ones_like, lambda f: 0 * f + 1], ids=["no graph", "graph"])
def test_constant(g: Callable[[Tensor], Tensor]) -> None:
    m, v = grid()
    assert_close(Quadrature(g).moments(m, v), (torch.ones_like(m), torch.zeros_like(m), torch.zeros_like(m)))


def test_leaves_parameters_and_inputs_alone() -> None:
    weight = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    m, v = (x.clone().requires_grad_() for x in grid(9))
    for g in (lambda f: torch.tanh(weight * f), lambda f: weight * f, lambda f: weight.expand(f.shape)):
        assert not any(x.requires_grad for x in Quadrature(g).moments(m, v))
    assert weight.grad is None
    assert m.grad is None
    assert v.grad is None


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_modes_of_the_caller(mode: Callable) -> None:
    wanted = Quadrature(torch.tanh).moments(*grid(9))
    with mode():
        got = Quadrature(torch.tanh).moments(*grid(9))
        assert all(torch.equal(a, b) for a, b in zip(got, wanted, strict=True))


@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (BLOCK + 1,)], ids=str)
def test_shapes(shape: tuple[int, ...]) -> None:
    m, v = (
        torch.linspace(-1, 1, math.prod(shape), dtype=torch.float64).reshape(shape),
        torch.ones(shape).double(),
    )
    got = Quadrature(torch.special.ndtr).moments(m, v)
    assert all(x.shape == shape for x in got)
    assert all(torch.allclose(a, b, atol=1e-11) for a, b in zip(got, Probit().moments(m, v), strict=True))


def test_float32_stays_float32_and_needs_a_tolerance_it_can_hold() -> None:
    m, v = torch.tensor([0.3, -2.0]), torch.tensor([1.0, 4.0])
    with pytest.raises(ValueError, match=r"float32, whose rounding allows a tolerance of .*Pass float64"):
        Quadrature(torch.sigmoid).moments(m, v)
    got = Quadrature(torch.special.ndtr, tolerance=1e-4).moments(m, v)
    assert all(x.dtype == torch.float32 for x in got)
    assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(got, Probit().moments(m, v), strict=True))


ROUGH = {
    "relu": torch.relu,
    "abs": torch.abs,
    "clamp": lambda f: f.clamp(0, 1),
    "elu": torch.nn.functional.elu,
    "step": lambda f: (f > 0).to(f.dtype),
    "sign": torch.sign,
}


@pytest.mark.parametrize("v", [1e-12, 1e-4, 0.3, 9.0, 400.0])
@pytest.mark.parametrize("g", ROUGH.values(), ids=ROUGH.keys())
def test_kinks_and_jumps_are_refused(g: Callable[[Tensor], Tensor], v: float) -> None:
    m, v = torch.tensor([0.3 * v**0.5], dtype=torch.float64), torch.tensor([v], dtype=torch.float64)
    with pytest.raises(QuadratureError, match=r"estimated error of .* was wanted"):
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


def test_refusal_names_the_worst_element_and_the_remedy() -> None:
    m, v = torch.tensor([50.0, 0.25]).double(), torch.tensor([1.0, 4.0]).double()
    with pytest.raises(QuadratureError) as failure:
        Quadrature(torch.relu).moments(m, v)
    message = str(failure.value)
    assert "at m=0.25, v=4 (the worst of 1 among 2 elements)" in message
    assert "1.0e-11 was wanted" in message
    assert "links.Exp()" in message
    assert "larger tolerance" in message
    assert isinstance(failure.value, ArithmeticError)


@pytest.mark.parametrize("g", [torch.log, torch.sqrt, lambda f: torch.exp(f**2)], ids=["log", "sqrt", "exp of square"])
def test_not_finite(g: Callable[[Tensor], Tensor]) -> None:
    m, v = torch.tensor([1.0]).double(), torch.tensor([2.0]).double()
    with pytest.raises(QuadratureError, match=r"(?s)not finite .* m=1, v=2; .*links\.Exp\(\)"):
        Quadrature(g).moments(m, v)


def test_domain_is_touched_no_further_than_the_gaussian_reaches() -> None:
    """E log f for f ~ N(100, 1) = log 100 - 1/2e4 - 3/4e8 - ..., from the moments of the series."""
    got = Quadrature(torch.log).moments(torch.tensor(100.0).double(), torch.tensor(1.0).double())
    series = math.log(100) - sum(math.prod(range(1, 2 * k, 2)) / (2 * k * 100 ** (2 * k)) for k in range(1, 6))
    assert abs(got.value - series) < 1e-10


@pytest.mark.parametrize("g", [torch.sum, lambda f: f.float(), lambda f: f > 0], ids=["sum", "cast", "bool"])
def test_g_must_be_elementwise_and_keep_the_dtype(g: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(ValueError, match=r"g returned torch\.\w+ of shape .* must act elementwise"):
        Quadrature(g).moments(torch.zeros(2).double(), torch.ones(2).double())


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1.0, math.nan])
def test_tolerance_is_checked(tolerance: float) -> None:
    with pytest.raises(ValueError, match=r"Quadrature got tolerance=.*such as 1e-11"):
        Quadrature(torch.sin, tolerance=tolerance)
