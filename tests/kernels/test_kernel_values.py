"""Every kernel's values against a formula written down independently, and against scikit-learn's."""

import numpy as np
import pytest
import torch
from hypothesis import given
from sklearn.gaussian_process import kernels as sklearn_kernels
from torch import Tensor

from conformance.zoo import EVERY_KERNEL, FEATURES, KERNELS, KernelCase, generator, normal, pulled, seeds, uniform
from gplens.kernels import RBF, Kernel, Linear, Matern, Matern32, Matern52, Periodic, Power, RationalQuadratic
from gplens.lines.line import Line
from messages import naming
from oracles.dense import matrix
from rounding import EPS, assert_rounded

every_kernel = pytest.mark.parametrize("case", EVERY_KERNEL, ids=repr)


def line(seed: int, b: int = 3, q: int = 5, *, shared: bool = False) -> Line:
    g = generator(seed)
    return Line(normal(g, 1 if shared else b, FEATURES), normal(g, b, FEATURES), uniform(g, 0, 1, b, q))


@every_kernel
@given(seed=seeds)
def test_values_are_those_of_the_formula(case: KernelCase, seed: int) -> None:
    """k(X, Z)_ij = k(x_i, z_j)."""
    (kernel, naive), g = case.build(seed), generator(seed)
    X, Z = normal(g, 5, FEATURES), normal(g, 6, FEATURES)
    torch.testing.assert_close(kernel(X, Z), matrix(naive, X, Z), rtol=1e-12, atol=1e-13)


@every_kernel
@given(seed=seeds)
def test_diagonal_is_the_kernel_of_a_point_with_itself(case: KernelCase, seed: int) -> None:
    """diagonal(X)_i = k(x_i, x_i)."""
    kernel, naive = case.build(seed)
    X = normal(generator(seed), 6, FEATURES)
    torch.testing.assert_close(kernel.diagonal(X), kernel(X, X).diagonal(), rtol=1e-13, atol=1e-14)
    torch.testing.assert_close(kernel.diagonal(X), naive(X, X), rtol=1e-13, atol=1e-14)


@every_kernel
@pytest.mark.parametrize("shared", [False, True], ids=["own baselines", "one baseline"])
@given(seed=seeds)
def test_values_along_a_line_are_those_at_its_points(case: KernelCase, shared: bool, seed: int) -> None:
    """along(line, Z) = k(x(t_q), z_n), and along_diagonal(line) = k(x(t_q), x(t_q))."""
    (kernel, naive), path = case.build(seed), line(seed, shared=shared)
    Z = normal(generator(seed + 1), 4, FEATURES)
    x = path.x0[:, None] + path.t[..., None] * path.d[:, None]
    values = naive(x[:, :, None], Z)
    torch.testing.assert_close(kernel.along(path, Z).values, values, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(kernel.along_diagonal(path).values, naive(x, x), rtol=1e-12, atol=1e-13)


def number(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


SCALE = torch.tensor([0.5, 1.7], dtype=torch.float64)
SKLEARN = [
    (RBF(SCALE), sklearn_kernels.RBF([0.5, 1.7])),
    (Matern32(SCALE), sklearn_kernels.Matern([0.5, 1.7], nu=1.5)),
    (Matern52(SCALE), sklearn_kernels.Matern([0.5, 1.7], nu=2.5)),
    (
        RationalQuadratic(number(1.3)[None], number(0.6)),
        sklearn_kernels.RationalQuadratic(1.3, 0.6),
    ),
    (Linear(number(1.0)[None]), sklearn_kernels.DotProduct(1e-5)),
]


@pytest.mark.parametrize(("ours", "theirs"), SKLEARN, ids=lambda k: type(k).__name__)
def test_values_agree_with_scikit_learn(ours: Kernel, theirs: sklearn_kernels.Kernel) -> None:
    X, Z = normal(generator(0), 5, 2), normal(generator(1), 6, 2)
    np.testing.assert_allclose(ours(X, Z).numpy(), theirs(X.numpy(), Z.numpy()), rtol=1e-9, atol=2e-10)


def test_periodic_agrees_with_scikit_learn_whose_lengthscale_is_squared() -> None:
    """exp(-2 sin^2(pi r/p) / l^2): our l divides the squared sine without being squared itself."""
    X, Z = normal(generator(0), 5, 1), normal(generator(1), 6, 1)
    ours = Periodic(number(0.9**2)[None], number(1.4)[None])(X, Z)
    np.testing.assert_allclose(ours, sklearn_kernels.ExpSineSquared(0.9, 1.4)(X.numpy(), Z.numpy()), rtol=1e-12)


INVARIANT = ["rbf", "matern32", "matern52", "rational quadratic", "cosine", "periodic"]


@pytest.mark.parametrize("case", [KERNELS[name] for name in INVARIANT], ids=repr)
@given(seed=seeds)
def test_data_far_from_the_origin_keep_their_digits(case: KernelCase, seed: int) -> None:
    """k(x + s, z + s) = k(x, z), with s = 2^20 and coordinates on a grid, so that the shift itself is exact."""
    kernel, _ = case.build(seed)
    g = generator(seed)
    x0, d, Z = ((normal(g, *shape) * 1024).round() / 1024 for shape in ((2, 4), (2, 4), (5, 4)))
    t, W = uniform(g, 0, 1, 2, 3), normal(g, 2, 1, 3, 5)
    here, there = kernel.along(Line(x0, d, t), Z), kernel.along(Line(x0 + 2.0**20, d, t), Z + 2.0**20)
    torch.testing.assert_close(there.values, here.values, rtol=0, atol=1e-12)
    torch.testing.assert_close(pulled(there, W), pulled(here, W), rtol=0, atol=1e-11)


@pytest.mark.parametrize("alpha", [1e5, 1e12])
def test_a_rational_quadratic_with_a_large_alpha_keeps_its_digits(alpha: float) -> None:
    """Optimisers drive alpha to its bound: (1 + r2/2a)^-a = e^(-r2/2) (1 + r2^2/8a) + O(1/a^2).

    e^-u rounds u, and so has an error of u e^-u < 1 roundings beside its own: eight allow for both sides.
    """
    r2 = torch.linspace(0, 6, 61, dtype=torch.float64)
    kernel, limit = RationalQuadratic(number(1.0)[None], number(alpha)), torch.exp(-r2 / 2)
    expected = limit * (1 + r2**2 / (8 * alpha))
    assert_rounded(kernel.profile(r2), expected, roundings=8 + 40 / alpha**2 / EPS)


def test_a_matern_kernel_of_order_20_is_nearly_rbf() -> None:
    """The 0.012 of its error message, and finite everywhere."""
    r2, scale = torch.cat([torch.linspace(0, 30, 301), torch.logspace(-30, 0, 61)]).double(), number(1.0)[None]
    kernel = Matern(scale, 20)
    assert 0.011 < (kernel.profile(r2) - RBF(scale).profile(r2)).abs().max() < 0.012
    assert all(function(r2).isfinite().all() for function in (kernel.profile, kernel.slope, kernel.bend))


def test_a_power_that_is_not_real_says_so() -> None:
    X = normal(generator(0), 5, 2)
    with pytest.raises(ArithmeticError, match=naming("k", 1.5) + r"(?=.*-\d)"):
        Power(Linear(number(1.0)[None]), 1.5)(X, X)
    with pytest.raises(ValueError, match=naming("Power", "exponent", -1)):
        Power(Linear(number(1.0)[None]), -1)
