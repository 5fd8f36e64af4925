"""E g^(i)(f) g^(j)(f') of every link against nested quadrature, and the identities between them."""

import math
import subprocess
import sys
from collections.abc import Callable
from itertools import product

import gaussian_oracle
import mpmath as mp
import pair_oracle as oracle
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import config
from torch import Tensor

from gplens.links import (
    Affine,
    Exp,
    Identity,
    LaplaceTail,
    Link,
    PairMoments,
    Probit,
    ProbitMixture,
    Quadrature,
    QuadratureError,
    Sigmoid,
    SigmoidTaylor,
    Softplus,
    Square,
)

CORRELATIONS = (-1.0, -0.9, 0.0, 0.5, 0.999, 1.0)
MEANS = ((0.0, 0.0), (0.3, -2.0), (-4.0, 5.0), (1.5, 1.5))
MODERATE = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1e-12, 4.0), (1e-4, 1e-4), (0.3, 2.0), (4.0, 4.0))
LARGE = ((9.0, 1.0), (4.0, 400.0), (400.0, 1e-4), (100.0, 100.0))

EVERY_LINK = [  # link, derivatives, width of a panel; joining this list is joining the contract
    (Identity(), oracle.IDENTITY, 4.0),
    (Square(), oracle.SQUARE, 4.0),
    (Exp(), oracle.EXP, 4.0),
    (Probit(), oracle.PROBIT, 2.0),
    (Probit(shift=1.5, noise=0.25), oracle.EXCEEDS, 1.0),
    (ProbitMixture((1.5, -0.5), (0.5, 4.0)), oracle.MIXTURE, 1.0),
    (Sigmoid(), oracle.SIGMOID, 4.0),
    (Softplus(), oracle.SOFTPLUS, 4.0),
    (Quadrature(torch.tanh), oracle.TANH, 2.0),
    (Quadrature(torch.sin), oracle.SIN, 4.0),
]
SMOOTH = [Probit(), Sigmoid(), Softplus(), Quadrature(torch.tanh)]
BOUNDED = [x for x in EVERY_LINK if isinstance(x[0], Probit | Sigmoid | Softplus)]


def name(x: object) -> str:
    return repr(x) if isinstance(x, Link) else ""


def double(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def joint(cases: list[oracle.Case]) -> tuple[Tensor, Tensor, Tensor]:
    """A path of two nodes for every case."""
    m1, m2, v1, v2, r = torch.tensor(cases, dtype=torch.float64).T
    m, v = torch.stack([m1, m2], -1), torch.stack([v1, v2], -1)
    cross = r * torch.sqrt(v1 * v2)
    return m, v, torch.stack([v1, cross, cross, v2], -1).reshape(-1, 2, 2)


def off_diagonal(got: PairMoments) -> Tensor:
    """(cases, 4): the first node with the second."""
    return torch.stack([E[:, 0, 1] for E in got], -1)


def assert_close(got: Tensor, wanted: Tensor, tolerance: float) -> None:
    assert ((got - wanted).abs() / wanted.abs().clamp(min=1)).max() < tolerance


def cases_of(variances: tuple, means: tuple, correlations: tuple) -> list[oracle.Case]:
    return [(*m, *v, r) for m, v, r in product(means, variances, correlations)]


@pytest.mark.parametrize(("link", "g", "width"), EVERY_LINK, ids=name)
def test_pair_moments(link: Link, g: tuple, width: float) -> None:
    cases = cases_of(MODERATE, MEANS, CORRELATIONS)
    wanted = torch.tensor(
        [oracle.pair_moments(g, case, width=width, reach=16.0) for case in cases], dtype=torch.float64
    )
    assert_close(off_diagonal(link.pair_moments(*joint(cases))), wanted, 1e-10)


@pytest.mark.parametrize("v", LARGE, ids=str)
@pytest.mark.parametrize(("link", "g", "width"), BOUNDED, ids=name)
def test_large_variances(link: Link, g: tuple, width: float, v: tuple[float, float]) -> None:
    cases = [(0.0, 0.0, *v, 1.0), (1.5, -2.0, *v, -1.0), (0.5, -2.0, *v, -0.9)]
    wanted = torch.tensor([oracle.pair_moments(g, case, width=width) for case in cases], dtype=torch.float64)
    assert_close(off_diagonal(link.pair_moments(*joint(cases))), wanted, 1e-10)


@pytest.mark.parametrize(("link", "g", "width"), BOUNDED, ids=name)
def test_largest_variance_and_mean(link: Link, g: tuple, width: float) -> None:
    cases = [(m, m_, 400.0, 400.0, r) for m, m_ in ((0.0, 0.5), (100.0, 70.0)) for r in (-1.0, 1.0)]
    wanted = torch.tensor([oracle.pair_moments(g, case, width=width) for case in cases], dtype=torch.float64)
    assert_close(off_diagonal(link.pair_moments(*joint(cases))), wanted, 1e-10)


@pytest.mark.parametrize("r", [-0.9, 0.5, 1.0])
@pytest.mark.parametrize("g", [oracle.SIGMOID, oracle.SOFTPLUS], ids=["sigmoid", "softplus"])
def test_oracle_does_not_depend_on_its_panels(g: tuple, r: float) -> None:
    case = (0.3, -1.0, 9.0, 4.0, r)
    one = oracle.pair_moments(g, case, width=4.0)
    other = oracle.pair_moments(g, case, width=1.3, reach=12.7)
    assert max(abs(a - b) for a, b in zip(one, other, strict=True)) < 1e-14


def test_oracle_against_mpmath() -> None:
    """E11 of the sigmoid by another rule, at m = 0.3, m' = -1, v = 1, v' = 0.5, r = -0.9."""
    r = -0.9
    sd, rest = mp.sqrt(0.5), mp.sqrt(0.5 * (1 - r * r))
    s1 = gaussian_oracle.sigmoid1

    def integrand(z: mp.mpf, y: mp.mpf) -> mp.mpf:
        return s1(0.3 + z) * s1(-1 + r * sd * z + rest * y) * mp.npdf(z) * mp.npdf(y)

    wanted = mp.quad(integrand, [-9, 0, 9], [-9, 0, 9], maxdegree=5, method="gauss-legendre")
    assert abs(oracle.pair_moments(oracle.SIGMOID, (0.3, -1.0, 1.0, 0.5, r), width=4.0)[0] - wanted) < 1e-13


@pytest.mark.parametrize(("link", "g", "width"), EVERY_LINK, ids=name)
def test_derivative(link: Link, g: tuple, width: float) -> None:
    f = torch.linspace(-9, 9, 37, dtype=torch.float64).reshape(37, 1)
    assert torch.allclose(link.derivative(f), torch.from_numpy(g[0](f.numpy())), rtol=1e-13, atol=1e-16)
    assert torch.equal(Affine(link, -2.0, 1.0).derivative(f), -2 * link.derivative(f))


@pytest.mark.parametrize("link", [LaplaceTail(0.4, 0.7), SigmoidTaylor()], ids=repr)
def test_derivative_by_autograd(link: Link) -> None:
    f = torch.linspace(-3, 3, 20, dtype=torch.float64, requires_grad=True)
    (wanted,) = torch.autograd.grad(link(f).sum(), f)
    assert torch.allclose(link.derivative(f.detach()), wanted, rtol=1e-13)


def random_joint(seed: int, b: int, q: int, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    root = torch.randn(b, q, 3, generator=generator, dtype=torch.float64) * scale
    c = root @ root.transpose(-1, -2)
    return torch.randn(b, q, generator=generator, dtype=torch.float64), c.diagonal(dim1=1, dim2=2).clone(), c


@given(seed=st.integers(0, 2**31), scale=st.floats(0.01, 1.5))
@settings(max_examples=5, deadline=None)
@pytest.mark.parametrize("link", SMOOTH, ids=repr)
def test_symmetry_and_cauchy_schwarz(link: Link, seed: int, scale: float) -> None:
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
def test_reversed_paths(link: Link, seed: int, scale: float) -> None:
    """Renumbering the nodes renumbers the moments: E_ij at (node, node') does not depend on its place."""
    m, v, c = random_joint(seed, 1, 5, scale)
    here, there = link.pair_moments(m, v, c), link.pair_moments(m.flip(1), v.flip(1), c.flip(1, 2))
    assert all(torch.allclose(a, b.flip(1, 2), atol=1e-13) for a, b in zip(here, there, strict=True))


K = torch.arange(-3, 4, dtype=torch.float64)
CENTRAL = double(-1, 9, -45, 0, 45, -9, 1) / 60
"""The first derivative by central differences of sixth order, times the step."""


@pytest.mark.parametrize("r", [-0.9, 0.0, 0.6])
@pytest.mark.parametrize("v", [(0.5, 1.5), (4.0, 9.0)], ids=str)
@pytest.mark.parametrize("link", [*SMOOTH, Square(), Probit(shift=1.5, noise=0.25)], ids=repr)
def test_derivatives_of_the_moments(link: Link, v: tuple[float, float], r: float) -> None:
    """dE11/dm' = E12,  dE12/dm' = E13,  dE12/dm = E22,  dE11/dc = E22 (Price)."""
    h, mean = 0.02, (0.4, -0.8)
    cross = r * math.sqrt(v[0] * v[1])
    centre = off_diagonal(link.pair_moments(*joint([(*mean, *v, r)])))[0]

    def slope(cases: list[oracle.Case]) -> Tensor:
        return CENTRAL @ off_diagonal(link.pair_moments(*joint(cases))) / h

    steps = (h * K).tolist()
    in_first = slope([(mean[0] + x, mean[1], *v, r) for x in steps])
    in_second = slope([(mean[0], mean[1] + x, *v, r) for x in steps])
    in_c = slope([(*mean, *v, (cross + x) / math.sqrt(v[0] * v[1])) for x in steps])
    assert torch.allclose(in_second[:2], centre[1:3], atol=2e-8)
    assert torch.allclose(in_first[1], centre[3], atol=2e-8)
    assert torch.allclose(in_c[0], centre[3], atol=2e-8)


@pytest.mark.parametrize("v", [0.0, 1e-6, 1.0, 9.0])
def test_one_value_twice(v: float) -> None:
    """At correlation 1 and equal marginals: E s'^2, E s' s'', E s' s''', E s''^2 in one dimension (mpmath)."""
    s1, s2 = gaussian_oracle.sigmoid1, gaussian_oracle.sigmoid2

    def s3(f: mp.mpf) -> mp.mpf:
        return s1(f) * (1 - 6 * s1(f))

    got = off_diagonal(Sigmoid().pair_moments(*joint([(0.7, 0.7, v, v, 1.0)])))[0]
    for actual, (a, b) in zip(got, ((s1, s1), (s1, s2), (s1, s3), (s2, s2)), strict=True):
        wanted = gaussian_oracle.expectation(lambda f, a=a, b=b: a(f) * b(f), 0.7, v)
        assert abs(actual.item() - wanted) < 1e-11


@pytest.mark.parametrize("link", SMOOTH, ids=repr)
def test_independent_values(link: Link) -> None:
    """c = 0: products of the one-dimensional moments."""
    m, v = double(0.3, -1.0, 2.0)[None], double(0.5, 0.0, 7.0)[None]
    got = link.pair_moments(m, v, torch.zeros(1, 3, 3).double())
    _, slope, curvature = link.moments(m, v)
    assert torch.allclose(got.E11, slope[..., None] * slope[:, None], atol=1e-11)
    assert torch.allclose(got.E12, slope[..., None] * curvature[:, None], atol=1e-11)
    assert torch.allclose(got.E22, curvature[..., None] * curvature[:, None], atol=1e-11)


@pytest.mark.parametrize("inner", [Square(), Exp(), Sigmoid()], ids=repr)
def test_affine(inner: Link) -> None:
    model = random_joint(0, 2, 3, 0.7)
    got, base = Affine(inner, -3.0, 5.0).pair_moments(*model), inner.pair_moments(*model)
    assert all(torch.equal(a, 9 * b) for a, b in zip(got, base, strict=True))


@pytest.mark.parametrize(
    ("g", "link"),
    [(torch.sigmoid, Sigmoid()), (torch.special.ndtr, Probit()), (torch.exp, Exp()), (lambda f: f**2, Square())],
    ids=["sigmoid", "ndtr", "exp", "square"],
)
def test_quadrature_against_the_links(g: Callable[[Tensor], Tensor], link: Link) -> None:
    """exp outgrows the density: errors are relative to sqrt(E g'(f)^2 E g'(f')^2)."""
    m, v, c = random_joint(3, 2, 5, 0.9)
    root = torch.exp(m + v) if isinstance(link, Exp) else torch.ones_like(m) * 10
    size = root[:, :, None] * root[:, None, :]
    for a, b in zip(Quadrature(g).pair_moments(m, v, c), link.pair_moments(m, v, c), strict=True):
        assert ((a - b).abs() / size).max() < 1e-11


def test_quadrature_at_the_largest_variance() -> None:
    case = (0.0, 1.5, 400.0, 400.0, 1.0)
    wanted = torch.tensor([oracle.pair_moments(oracle.SIGMOID, case, width=4.0)], dtype=torch.float64)
    assert_close(off_diagonal(Quadrature(torch.sigmoid).pair_moments(*joint([case]))), wanted, 1e-10)


ROUGH = {
    "relu": torch.relu,
    "step": lambda f: (f > 0).to(f.dtype),
    "elu": torch.nn.functional.elu,
    "jump in g''": lambda f: f * f.abs(),
    "jump in g'', far": lambda f: torch.relu(f - 1) ** 2 + torch.sin(f),
    "jump in g'''": lambda f: f.abs() ** 3,
    "detached": lambda f: f * f * f.detach(),
}


@pytest.mark.parametrize("g", ROUGH.values(), ids=ROUGH.keys())
def test_rough_functions_are_refused(g: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(QuadratureError, match=r"estimated error of .* was wanted"):
        Quadrature(g).pair_moments(*joint([(0.3, 0.1, 1.0, 2.0, 0.5)]))


def test_sine_is_never_aliased() -> None:
    """E cos(wf) cos(wf') = e^(-w^2 (v + v')/2) [cosh(w^2 c) cos cos + sinh(w^2 c) sin sin](wm, wm')."""
    w, m, v, r = 3.0, (0.3, 0.7), 25.0, 0.98
    got = off_diagonal(Quadrature(lambda f: torch.sin(w * f)).pair_moments(*joint([(*m, v, v, r)])))[0, 0]
    apart = math.exp(-(w**2) * v * (1 - r)) * math.cos(w * (m[0] - m[1]))
    together = math.exp(-(w**2) * v * (1 + r)) * math.cos(w * (m[0] + m[1]))
    assert abs(got - w**2 * (apart + together) / 2) < 1e-10 * w**6


ACCEPT = [link for link, *_ in EVERY_LINK]


@pytest.mark.parametrize("link", ACCEPT, ids=repr)
def test_rounding_beyond_correlation_one_is_accepted(link: Link) -> None:
    m, v, c = joint([(0.3, 0.3, 2.0, 2.0, 1.0)])
    exact, over = link.pair_moments(m, v, c), link.pair_moments(m, v, c * (1 + 1e-12))
    assert all(torch.allclose(a, b, rtol=1e-10, atol=1e-10) for a, b in zip(exact, over, strict=True))


def test_variance_that_rounding_made_zero() -> None:
    """A training input without noise: v = 0 and c = 1e-17 beside variances of one."""
    m, v, c = joint([(0.3, 0.1, 0.0, 1.0, 0.0)])
    exact, over = Sigmoid().pair_moments(m, v, c), Sigmoid().pair_moments(m, v, c + 1e-17)
    assert all(torch.allclose(a, b, atol=1e-15) for a, b in zip(exact, over, strict=True))


@pytest.mark.parametrize("link", [*ACCEPT, Affine(Exp(), 2.0, 1.0)], ids=repr)
def test_no_covariance_at_all_is_refused(link: Link) -> None:
    m, v, c = joint([(0.3, 0.3, 2.0, 2.0, 1.0 + 1e-6)])
    with pytest.raises(ValueError, match=r"2 of 4 covariances exceed sqrt\(v v'\), the worst c=2.*one posterior"):
        link.pair_moments(m, v, c)
    with pytest.raises(ValueError, match=r"1 of 4 entries of c are NaN or infinite"):
        link.pair_moments(m, v, c * double(1, 1, 1, math.nan).reshape(2, 2))
    with pytest.raises(ValueError, match=r"1 of 2 variances are negative"):
        link.pair_moments(m, v * double(-1, 1), c)


@pytest.mark.parametrize("link", ACCEPT, ids=repr)
def test_shapes_that_differ(link: Link) -> None:
    m, v, c = joint([(0.3, 0.3, 2.0, 2.0, 0.5)])
    config.update("jaxtyping_disable", True)
    try:
        with pytest.raises(ValueError, match=r"c is torch\.float64 of shape \(1, 2, 1\).*\(1, 2, 2\)"):
            link.pair_moments(m, v, c[..., :1])
        with pytest.raises(ValueError, match=r"c is torch\.float32"):
            link.pair_moments(m, v, c.float())
    finally:
        config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("link", [LaplaceTail(0.5, 1.0), SigmoidTaylor(), Affine(SigmoidTaylor(), 2.0, 0.0)], ids=repr)
def test_links_without_pair_moments(link: Link) -> None:
    with pytest.raises(NotImplementedError, match=r"has no pair moments: .*(links\.|from draws)"):
        link.pair_moments(*joint([(0.3, 0.3, 2.0, 2.0, 0.5)]))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (1, 1), (3, 4)], ids=str)
@pytest.mark.parametrize("link", ACCEPT, ids=repr)
def test_shapes(link: Link, shape: tuple[int, int]) -> None:
    m = torch.zeros(shape).double()
    got = link.pair_moments(m, torch.ones_like(m), torch.full((*shape, shape[1]), 0.5).double())
    assert all(E.shape == (*shape, shape[1]) and E.dtype == torch.float64 for E in got)


@pytest.mark.parametrize("link", [link for link in ACCEPT if not isinstance(link, Quadrature)], ids=repr)
def test_float32(link: Link) -> None:
    m, v, c = random_joint(1, 2, 3, 0.7)
    got = link.pair_moments(m.float(), v.float(), c.float())
    for a, b in zip(got, link.pair_moments(m.float().double(), v.float().double(), c.float().double()), strict=True):
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


def test_leaves_the_graph_of_the_caller_alone() -> None:
    m, v, c = (x.requires_grad_() for x in random_joint(5, 1, 2, 0.8))
    for link in (Sigmoid(), Softplus(), Quadrature(torch.sin)):
        assert not any(E.requires_grad for E in link.pair_moments(m, v, c))


PROGRAM = """
import resource, torch
from gplens.links import {name}
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
torch.set_num_threads(1)
x = torch.linspace(0, 1, 60).double()
c = {v} * torch.exp(-(x[:, None] - x) ** 2).expand(28, 60, 60).contiguous()
m, v = x.expand(28, 60).contiguous(), torch.full((28, 60), {v}).double()
link = {call}
link.pair_moments(m[:1, :2], v[:1, :2], c[:1, :2, :2])
before = peak()
link.pair_moments(m, v, c)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
@pytest.mark.parametrize(
    ("name", "call", "v"),
    [("Sigmoid", "Sigmoid()", 20.0), ("Quadrature", "Quadrature(torch.tanh)", 2.0)],
)
def test_a_hundred_thousand_pairs_fit_into_200_mb(name: str, call: str, v: float) -> None:
    program = PROGRAM.format(name=name, call=call, v=v)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(run.stdout) < 200
