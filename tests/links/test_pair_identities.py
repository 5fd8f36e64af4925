"""Identities between pair moments: symmetry, Cauchy-Schwarz, Price's theorem, independence, scale."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pair_paths import WITH_PAIRS, double, joint, off_diagonal, random_joint
from torch import Tensor

from conformance.zoo import LinkCase
from gplens.links import Affine, Exp, Link, Probit, Quadrature, Sigmoid, Softplus, Square
from oracles.pair_moments import Case
from rounding import assert_rounded

SMOOTH = [Probit(), Sigmoid(), Softplus(), pytest.param(Quadrature(torch.tanh), marks=pytest.mark.slow)]
K = torch.arange(-3, 4, dtype=torch.float64)
CENTRAL = double(-1, 9, -45, 0, 45, -9, 1) / 60
"""The first derivative by central differences of sixth order, times the step."""


@given(seed=st.integers(0, 2**31), scale=st.floats(0.01, 1.5))
@settings(max_examples=5, deadline=None)
@pytest.mark.parametrize("link", SMOOTH, ids=repr)
def test_moments_are_symmetric_and_obey_cauchy_schwarz(link: Link, seed: int, scale: float) -> None:
    """E11 and E22 are symmetric; matrices of second moments are positive semi-definite, with and without jitter."""
    m, v, c = random_joint(seed, 2, 6, scale)
    for jitter in (0.0, 1e-4):
        got = link.pair_moments(m, v + jitter, c)
        assert torch.allclose(got.E11, got.E11.mT, atol=1e-13)
        assert torch.allclose(got.E22, got.E22.mT, atol=1e-13)
    exact = link.pair_moments(m, v, c)
    joint_moments = torch.cat([torch.cat([exact.E11, exact.E12], 2), torch.cat([exact.E12.mT, exact.E22], 2)], 1)
    assert torch.linalg.eigvalsh(joint_moments).min() > -1e-10


@given(seed=st.integers(0, 2**31), scale=st.floats(0.1, 1.5))
@settings(max_examples=5, deadline=None)
@pytest.mark.parametrize("link", SMOOTH, ids=repr)
def test_reversing_a_path_reverses_its_moments(link: Link, seed: int, scale: float) -> None:
    """Renumbering the nodes renumbers the moments: E_ij at (node, node') does not depend on its place."""
    m, v, c = random_joint(seed, 1, 5, scale)
    here, there = link.pair_moments(m, v, c), link.pair_moments(m.flip(1), v.flip(1), c.flip(1, 2))
    assert all(torch.allclose(a, b.flip(1, 2), atol=1e-13) for a, b in zip(here, there, strict=True))


@pytest.mark.parametrize("r", [-0.9, 0.0, 0.6])
@pytest.mark.parametrize("v", [(0.5, 1.5), (4.0, 9.0)], ids=str)
@pytest.mark.parametrize("link", [*SMOOTH, Square(), Probit(shift=1.5, noise=0.25)], ids=repr)
def test_derivatives_of_the_moments(link: Link, v: tuple[float, float], r: float) -> None:
    """dE11/dm' = E12,  dE12/dm' = E13,  dE12/dm = E22,  dE11/dc = E22 (Price)."""
    h, mean = 0.02, (0.4, -0.8)
    cross = r * math.sqrt(v[0] * v[1])
    centre = off_diagonal(link.pair_moments(*joint([(*mean, *v, r)])))[0]

    def slope(cases: list[Case]) -> Tensor:
        return CENTRAL @ off_diagonal(link.pair_moments(*joint(cases))) / h

    steps = (h * K).tolist()
    in_first = slope([(mean[0] + x, mean[1], *v, r) for x in steps])
    in_second = slope([(mean[0], mean[1] + x, *v, r) for x in steps])
    in_c = slope([(*mean, *v, (cross + x) / math.sqrt(v[0] * v[1])) for x in steps])
    assert torch.allclose(in_second[:2], centre[1:3], atol=2e-8)
    assert torch.allclose(in_first[1], centre[3], atol=2e-8)
    assert torch.allclose(in_c[0], centre[3], atol=2e-8)


@pytest.mark.parametrize("link", SMOOTH, ids=repr)
def test_independent_values_have_products_of_moments(link: Link) -> None:
    """c = 0: products of the one-dimensional moments."""
    m, v = double(0.3, -1.0, 2.0)[None], double(0.5, 0.0, 7.0)[None]
    got = link.pair_moments(m, v, torch.zeros(1, 3, 3).double())
    _, slope, curvature = link.moments(m, v)
    assert torch.allclose(got.E11, slope[..., None] * slope[:, None], atol=1e-11)
    assert torch.allclose(got.E12, slope[..., None] * curvature[:, None], atol=1e-11)
    assert torch.allclose(got.E22, curvature[..., None] * curvature[:, None], atol=1e-11)


@pytest.mark.parametrize("inner", [Square(), Exp(), Sigmoid()], ids=repr)
def test_affine_scales_by_the_square_of_its_factor(inner: Link) -> None:
    model = random_joint(0, 2, 3, 0.7)
    got, base = Affine(inner, -3.0, 5.0).pair_moments(*model), inner.pair_moments(*model)
    for actual, E in zip(got, base, strict=True):
        assert_rounded(actual, 9 * E, roundings=4, size=9 * E.abs())


@pytest.mark.parametrize(
    ("g", "link"),
    [(torch.sigmoid, Sigmoid()), (torch.special.ndtr, Probit()), (torch.exp, Exp()), (lambda f: f**2, Square())],
    ids=["sigmoid", "ndtr", "exp", "square"],
)
def test_quadrature_agrees_with_the_closed_forms(g: Callable[[Tensor], Tensor], link: Link) -> None:
    """exp outgrows the density: errors are relative to sqrt(E g'(f)^2 E g'(f')^2)."""
    m, v, c = random_joint(3, 2, 5, 0.9)
    root = torch.exp(m + v) if isinstance(link, Exp) else torch.ones_like(m) * 10
    size = root[:, :, None] * root[:, None, :]
    for a, b in zip(Quadrature(g).pair_moments(m, v, c), link.pair_moments(m, v, c), strict=True):
        assert ((a - b).abs() / size).max() < 1e-11


def test_sine_is_never_aliased() -> None:
    """E cos(wf) cos(wf') = e^(-w^2 (v + v')/2) [cosh(w^2 c) cos cos + sinh(w^2 c) sin sin](wm, wm')."""
    w, m, v, r = 3.0, (0.3, 0.7), 25.0, 0.98
    got = off_diagonal(Quadrature(lambda f: torch.sin(w * f)).pair_moments(*joint([(*m, v, v, r)])))[0, 0]
    apart = math.exp(-(w**2) * v * (1 - r)) * math.cos(w * (m[0] - m[1]))
    together = math.exp(-(w**2) * v * (1 + r)) * math.cos(w * (m[0] + m[1]))
    assert abs(got - w**2 * (apart + together) / 2) < 1e-10 * w**6


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (1, 1), (3, 4)], ids=str)
@pytest.mark.parametrize("case", WITH_PAIRS, ids=repr)
def test_shapes_are_kept(case: LinkCase, shape: tuple[int, int]) -> None:
    m = torch.zeros(shape).double()
    got = case.link.pair_moments(m, torch.ones_like(m), torch.full((*shape, shape[1]), 0.5).double())
    assert all(E.shape == (*shape, shape[1]) and E.dtype == torch.float64 for E in got)


@pytest.mark.parametrize("case", [case for case in WITH_PAIRS if not isinstance(case.link, Quadrature)], ids=repr)
def test_float32_moments_have_the_digits_of_float32(case: LinkCase) -> None:
    m, v, c = random_joint(1, 2, 3, 0.7)
    single = m.float(), v.float(), c.float()
    expected = case.link.pair_moments(*(x.double() for x in single))
    for a, b in zip(case.link.pair_moments(*single), expected, strict=True):
        assert a.dtype == torch.float32
        assert ((a.double() - b).abs() / b.abs().clamp(min=1)).max() < 2e-5


@pytest.mark.parametrize("link", [Sigmoid(), Quadrature(torch.tanh)], ids=repr)
def test_rows_do_not_depend_on_their_neighbours(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    m, v, c = random_joint(5, 7, 3, 0.8)
    together = link.pair_moments(m, v, c)
    monkeypatch.setattr("gplens.links.moments.hermite.BLOCK", 18)
    monkeypatch.setattr("gplens.links.moments.resolution.GROUP", 2)
    for a, b in zip(together, link.pair_moments(m, v, c), strict=True):
        assert torch.allclose(a, b, atol=2e-11)


def test_the_graph_of_the_caller_is_left_alone() -> None:
    m, v, c = (x.requires_grad_() for x in random_joint(5, 1, 2, 0.8))
    for link in (Sigmoid(), Softplus(), Quadrature(torch.sin)):
        assert not any(E.requires_grad for E in link.pair_moments(m, v, c))
