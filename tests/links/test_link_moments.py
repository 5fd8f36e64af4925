"""Every link's three moments against mpmath, over means to 100 and variances from 0 to 400."""

import gaussian_oracle as oracle
import mpmath as mp
import pytest
import torch

from gplens.links import (
    Affine,
    Exp,
    Identity,
    LaplaceTail,
    Link,
    Moments,
    Probit,
    ProbitMixture,
    Sigmoid,
    SigmoidTaylor,
    Softplus,
    Square,
)

MEANS = (-100.0, -30.0, -3.0, -0.5, 0.0, 1.0, 7.0, 40.0, 100.0)
VARIANCES = (0.0, 1e-30, 1e-12, 1e-4, 0.3, 1.0, 3.9, 4.1, 9.0, 100.0, 400.0)

EVERY_LINK = [  # joining this list is joining the contract
    (Identity(), oracle.IDENTITY),
    (Square(), oracle.SQUARE),
    (Exp(), oracle.EXP),
    (Probit(), oracle.PROBIT),
    (Probit(shift=1.5, noise=0.25), oracle.EXCEEDS),
    (ProbitMixture((1.5, -0.5), (0.5, 4.0)), oracle.MIXTURE),
    (LaplaceTail(shift=1.5, scale=0.7), oracle.LAPLACE),
    (Sigmoid(), oracle.SIGMOID),
    (Softplus(), oracle.SOFTPLUS),
]


def double(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def assert_close(got: Moments, wanted: list[tuple[float, float, float]], tolerance: float) -> None:
    for actual, expected in zip(got, torch.tensor(wanted, dtype=torch.float64).T, strict=True):
        error = (actual - expected).abs() / expected.abs().clamp(min=1)
        assert error.max() < tolerance


@pytest.mark.parametrize("v", VARIANCES)
@pytest.mark.parametrize(("link", "g"), EVERY_LINK, ids=lambda x: repr(x) if isinstance(x, Link) else "")
def test_moments(link: Link, g: tuple, v: float) -> None:
    m = double(*MEANS)
    assert_close(link.moments(m, torch.full_like(m, v)), [oracle.moments(g, mean, v) for mean in MEANS], 1e-10)


@pytest.mark.parametrize("v", [2.2, 2.2499999, 2.25, 2.2500001, 2.3])
@pytest.mark.parametrize(("link", "g"), EVERY_LINK[-2:], ids=["Sigmoid", "Softplus"])
def test_logistic_moments_where_the_rules_meet(link: Link, g: tuple, v: float) -> None:
    m = double(-2.0, 0.0, 0.7, 5.0)
    wanted = [oracle.moments(g, mean, v) for mean in m.tolist()]
    assert_close(link.moments(m, torch.full_like(m, v)), wanted, 1e-12)


@pytest.mark.parametrize(("m", "v"), [(0.0, 1.0), (7.0, 400.0), (-3.0, 4.1), (1.0, 1e-12)])
@pytest.mark.parametrize("g", [oracle.softplus, oracle.sigmoid2, oracle.tail2, oracle.exp])
def test_oracle_does_not_depend_on_its_rule(g: oracle.Function, m: float, v: float) -> None:
    one = oracle.expectation(g, m, v)
    other = oracle.expectation_again(g, m, v)
    assert abs(one - other) < mp.mpf("1e-15") * max(1, abs(one))


@pytest.mark.parametrize(("link", "g"), EVERY_LINK, ids=lambda x: repr(x) if isinstance(x, Link) else "")
def test_call_is_g(link: Link, g: tuple) -> None:
    got = link(double(*MEANS))
    wanted = double(*(float(g[0](mp.mpf(f))) for f in MEANS))
    assert torch.allclose(got, wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("v", [0.0, 0.3, 9.0])
def test_sigmoid_taylor_is_the_expansion_of_the_paper(v: float) -> None:
    m = double(-3.0, -0.5, 0.0, 1.0, 7.0)
    got = SigmoidTaylor().moments(m, torch.full_like(m, v))
    s = [[float(mp.diff(oracle.sigmoid, f, k)) for f in m.tolist()] for k in range(4)]
    assert torch.allclose(got.slope, double(*s[1]) + v / 2 * double(*s[3]), atol=1e-12)
    assert torch.allclose(got.curvature, double(*s[2]), atol=1e-12)
    assert torch.equal(got.value, Sigmoid().moments(m, torch.full_like(m, v)).value)


@pytest.mark.parametrize("inner", [link for link, _ in EVERY_LINK], ids=repr)
def test_affine_scales_and_shifts(inner: Link) -> None:
    m, v = double(-1.0, 0.3, 4.0), double(0.0, 1.0, 9.0)
    got, base = Affine(inner, 3.0, -2.0), inner.moments(m, v)
    assert torch.equal(got(m), 3 * inner(m) - 2)
    wanted = (3 * base.value - 2, 3 * base.slope, 3 * base.curvature)
    assert all(torch.equal(a, b) for a, b in zip(got.moments(m, v), wanted, strict=True))


def test_flags() -> None:
    assert [link.needs_variance for link, _ in EVERY_LINK] == [False] + [True] * 8
    assert all(link.exact for link, _ in EVERY_LINK)
    assert not SigmoidTaylor().exact
    assert not Affine(SigmoidTaylor(), 2.0, 0.0).exact
    assert Affine(Sigmoid(), 2.0, 0.0).exact
    assert not Affine(Identity(), 2.0, 1.0).needs_variance
    assert Affine(Square(), 2.0, 1.0).needs_variance


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    "link", [*(link for link, _ in EVERY_LINK), SigmoidTaylor(), Affine(Exp(), 2.0, 1.0)], ids=repr
)
def test_shape_and_dtype_are_kept(link: Link, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    m, v = torch.zeros(shape, dtype=dtype), torch.full(shape, 3.0, dtype=dtype)
    assert all(x.shape == shape and x.dtype == dtype for x in link.moments(m, v))


@pytest.mark.parametrize(("link", "g"), EVERY_LINK, ids=lambda x: repr(x) if isinstance(x, Link) else "")
def test_float32(link: Link, g: tuple) -> None:
    m, v = torch.tensor([-3.0, 0.5, 7.0, 1.0]), torch.tensor([0.0, 1.0, 4.0, 9.0])
    got = link.moments(m, v)
    wanted = [oracle.moments(g, *pair) for pair in zip(m.tolist(), v.tolist(), strict=True)]
    assert_close(Moments(*(x.double() for x in got)), wanted, 1e-5)
