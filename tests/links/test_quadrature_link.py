"""Quadrature over any g against closed forms and mpmath, and what it must leave alone."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from gplens.links import Exp, Identity, Link, Probit, Quadrature, Square
from gplens.links.quadrature import BLOCK
from oracles import gaussian_moments as oracle
from rounding import assert_rounded

MEANS = torch.tensor([-100, -30, -3, -0.5, 0, 1, 7, 40, 100], dtype=torch.float64)
VARIANCES = torch.tensor([0, 1e-30, 1e-12, 1e-8, 1e-4, 0.3, 1, 3.9, 4.1, 9, 100, 400], dtype=torch.float64)


def grid(largest: float = 400) -> tuple[Tensor, Tensor]:
    m, v = torch.meshgrid(MEANS, VARIANCES[largest >= VARIANCES], indexing="ij")
    return m, v


def assert_close(got: tuple[Tensor, ...], expected: tuple[Tensor, ...]) -> None:
    for actual, moment in zip(got, expected, strict=True):
        assert ((actual - moment).abs() / moment.abs().clamp(min=1)).max() < 1e-10


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
def test_moments_are_those_of_closed_forms(g: Callable[[Tensor], Tensor], link: Link, largest: float) -> None:
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
def test_moments_of_tame_functions_are_those_of_mpmath(g: Callable[[Tensor], Tensor], derivatives: tuple) -> None:
    pairs = [(m, v) for m in (-30.0, -0.5, 1.0, 100.0) for v in (0.0, 1e-12, 0.3, 4.1, 100.0, 400.0)]
    m, v = torch.tensor(pairs, dtype=torch.float64).T
    expected = torch.tensor([oracle.moments(derivatives, *pair) for pair in pairs], dtype=torch.float64).T
    assert_close(Quadrature(g).moments(m, v), tuple(expected))


@pytest.mark.parametrize("frequency", [0.1, 1.0, 1.25, 3.0])
def test_moments_of_a_sine(frequency: float) -> None:
    """E sin(wf) = e^(-w^2 v/2) sin(wm). At w sd near 25 nested grids would agree on an alias."""
    m, v = grid()
    damped = torch.exp(-(frequency**2) * v / 2)
    sin, cos = torch.sin(frequency * m), torch.cos(frequency * m)
    expected = (damped * sin, frequency * damped * cos, -(frequency**2) * damped * sin)
    assert_close(Quadrature(lambda f: torch.sin(frequency * f)).moments(m, v), expected)


@given(phase=st.floats(-4, 4), sd=st.floats(0.1, 120))
@example(phase=1.0, sd=8 * math.pi)
@settings(deadline=None)
def test_sine_is_never_aliased(phase: float, sd: float) -> None:
    m, v = torch.tensor(phase, dtype=torch.float64), torch.tensor(sd**2, dtype=torch.float64)
    assert abs(Quadrature(torch.sin).moments(m, v).value - math.exp(-(sd**2) / 2) * math.sin(phase)) < 1e-10


def test_moments_of_polynomials() -> None:
    """f^4 - 2f:  E = m^4 + 6m^2 v + 3v^2 - 2m,  E g' = 4(m^3 + 3mv) - 2,  E g'' = 12(m^2 + v)."""
    m, v = grid()
    expected = (m**4 + 6 * m**2 * v + 3 * v**2 - 2 * m, 4 * (m**3 + 3 * m * v) - 2, 12 * (m**2 + v))
    assert_close(Quadrature(lambda f: f**4 - 2 * f).moments(m, v), expected)


def test_odd_polynomial_errors_are_relative_to_the_size_of_g() -> None:
    """E f^5 = 0 at m = 0, out of terms of 20^5: the error is measured against E|g|."""
    m, v = torch.zeros(1, dtype=torch.float64), torch.full((1,), 400.0, dtype=torch.float64)
    got = Quadrature(lambda f: f**5).moments(m, v)
    assert abs(got.value) < 1e-10 * 20**5
    assert abs(got.slope / (15 * 400**2) - 1) < 1e-10


@pytest.mark.parametrize("g", [torch.ones_like, lambda f: 0 * f + 1], ids=["no graph", "graph"])
def test_moments_of_a_constant(g: Callable[[Tensor], Tensor]) -> None:
    m, v = grid()
    assert_close(Quadrature(g).moments(m, v), (torch.ones_like(m), torch.zeros_like(m), torch.zeros_like(m)))


def test_parameters_and_inputs_are_left_alone() -> None:
    weight = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    m, v = (x.clone().requires_grad_() for x in grid(9))
    for g in (lambda f: torch.tanh(weight * f), lambda f: weight * f, lambda f: weight.expand(f.shape)):
        assert not any(x.requires_grad for x in Quadrature(g).moments(m, v))
    assert weight.grad is None
    assert m.grad is None
    assert v.grad is None


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_mode_of_the_caller_does_not_matter(mode: Callable) -> None:
    """The same numbers with and without a graph, but for the rounding of sums over the nodes."""
    expected = Quadrature(torch.tanh).moments(*grid(9))
    with mode():
        got = Quadrature(torch.tanh).moments(*grid(9))
        for actual, moment in zip(got, expected, strict=True):
            assert_rounded(actual, moment, roundings=64)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (BLOCK + 1,)], ids=str)
def test_shapes_are_kept(shape: tuple[int, ...]) -> None:
    m, v = (
        torch.linspace(-1, 1, math.prod(shape), dtype=torch.float64).reshape(shape),
        torch.ones(shape).double(),
    )
    got = Quadrature(torch.special.ndtr).moments(m, v)
    assert all(x.shape == shape for x in got)
    assert all(torch.allclose(a, b, atol=1e-11) for a, b in zip(got, Probit().moments(m, v), strict=True))
