"""Every kernel's pull-back against autograd on an independent formula, and the identities of gradients."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor

from conformance.zoo import (
    EVERY_KERNEL,
    FEATURES,
    KernelCase,
    active,
    constant,
    generator,
    linear,
    matern52,
    normal,
    pulled,
    rbf,
    seeds,
    uniform,
    wrapped,
)
from gplens.kernels import RBF, Autograd, Constant, Cosine, Kernel, Matern32, Matern52, Product, Scale, Sum
from gplens.lines.line import Line
from oracles.dense import gradient, panels

every_kernel = pytest.mark.parametrize("case", EVERY_KERNEL, ids=repr)


@every_kernel
@pytest.mark.parametrize("baselines", [1, 3])
@given(seed=seeds)
def test_pull_back_is_the_vector_jacobian_product(case: KernelCase, baselines: int, seed: int) -> None:
    """pull_back(W)_k = sum_qn W_qn d_k k(x_q, z_n), for two channels of weights at once."""
    (kernel, naive), g = case.build(seed), generator(seed + 1)
    path = Line(normal(g, baselines, FEATURES), normal(g, 3, FEATURES), uniform(g, 0, 1, 3, 5))
    Z, W = normal(g, 4, FEATURES), normal(g, 3, 2, 5, 4)
    points = path.x0[:, None] + path.t[..., None] * path.d[:, None]
    pull_back = pulled(kernel.along(path, Z), W)
    for p in range(2):
        expected = gradient(partial(_weighted, naive, Z, W[:, p]), points).sum(1)
        torch.testing.assert_close(pull_back[:, p], expected, rtol=1e-10, atol=1e-11)
    by_node = kernel.along(path, Z).by_node(W)
    assert by_node.shape == (3, 2, 5, FEATURES)
    torch.testing.assert_close(by_node.sum(2), pull_back, rtol=1e-10, atol=1e-11)
    single = torch.zeros_like(W)
    single[:, :, 3] = W[:, :, 3]  # the weights of a single node leave the others' derivatives zero
    torch.testing.assert_close(by_node[:, :, 3], pulled(kernel.along(path, Z), single), rtol=1e-10, atol=1e-11)


def _weighted(naive: "object", Z: Tensor, W: Tensor, x: Tensor) -> Tensor:
    return W * naive(x[:, :, None], Z)  # type: ignore[operator]


@every_kernel
@given(seed=seeds)
def test_pull_back_of_the_diagonal_is_the_gradient_of_the_prior_variance(case: KernelCase, seed: int) -> None:
    """pull_back(w)_k = sum_q w_q d_k [k(x_q, x_q)]: both arguments move."""
    (kernel, naive), g = case.build(seed), generator(seed + 1)
    path = Line(normal(g, 3, FEATURES), normal(g, 3, FEATURES), uniform(g, 0, 1, 3, 5))
    w = normal(g, 3, 1, 5)
    points = path.x0[:, None] + path.t[..., None] * path.d[:, None]
    expected = gradient(lambda x: w[:, 0] * naive(x, x), points).sum(1)
    section = kernel.along_diagonal(path)
    torch.testing.assert_close(pulled(section, w)[:, 0], expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(section.by_node(w).sum(2)[:, 0], expected, rtol=1e-10, atol=1e-12)


@every_kernel
@given(seed=seeds)
def test_pull_back_integrates_to_the_kernel(case: KernelCase, seed: int) -> None:
    """Completeness of a single kernel section: sum_k d_k int d_k k(x_t, z) dt = k(x, z) - k(x0, z)."""
    (kernel, naive), g = case.build(seed), generator(seed + 1)
    x0, d, z = (normal(g, 1, FEATURES) for _ in range(3))
    t, w = panels(8)
    pull_back = pulled(kernel.along(Line(x0, d, t[None]), z), w[None, None, :, None])
    assert abs(float(pull_back[0, 0] @ d[0] - (naive(x0 + d, z) - naive(x0, z))[0])) < 1e-11


@pytest.mark.parametrize("make", [rbf, matern52, linear, wrapped], ids=lambda make: make.__name__)
@given(seed=seeds)
def test_features_that_a_kernel_ignores_have_gradient_zero_exactly(make: "object", seed: int) -> None:
    """ActiveDimensions leaves no rounding in the other columns, alone or inside sums and products."""
    g = generator(seed)
    inner = active(make(g, 2), 3, 1)[0]  # type: ignore[operator]
    a = torch.tensor(1.5).double()
    for kernel in (inner, Scale(inner, a), Sum((inner, Constant(a))), Product((inner, inner))):
        path = Line(normal(g, 2, 4), normal(g, 2, 4), uniform(g, 0, 1, 2, 3))
        pull_back = pulled(kernel.along(path, normal(g, 5, 4)), normal(g, 2, 2, 3, 5))
        diagonal = pulled(kernel.along_diagonal(path), normal(g, 2, 2, 3))
        assert torch.equal(pull_back[..., [0, 2]], torch.zeros(2, 2, 2, dtype=torch.float64))
        assert torch.equal(diagonal[..., [0, 2]], torch.zeros(2, 2, 2, dtype=torch.float64))
        assert (pull_back[..., [1, 3]] != 0).all()


@pytest.mark.parametrize("kind", [Matern32, Matern52, Cosine, RBF], ids=lambda kind: kind.__name__)
def test_gradient_on_a_support_point_is_zero_and_finite(kind: type[Kernel]) -> None:
    """A differentiable stationary kernel is flat at r = 0, where autograd through the square root gives NaN."""
    kernel = kind(torch.tensor([0.7, 1.1, 2.0]).double())  # type: ignore[call-arg]
    x = normal(generator(0), 3, 3)
    pull_back = pulled(kernel.along(Line.at(x), x), torch.eye(3, dtype=torch.float64)[:, None, None], 3)
    assert pull_back.isfinite().all()
    assert pull_back.abs().max() < 1e-7  # r = 1e-8 is what is left of a distance that cancels


@pytest.mark.parametrize("kind", [Matern32, Matern52, Cosine], ids=lambda kind: kind.__name__)
def test_gradient_next_to_a_support_point_follows_the_curvature(kind: type[Kernel]) -> None:
    """d_k k = h'(0) 2 (x_k - z_k) / l^2 + O(r^2), with 2 h'(0) = -3, -5/3, -pi^2."""
    curvature = {Matern32: 3.0, Matern52: 5 / 3, Cosine: np.pi**2}[kind]
    z = normal(generator(0), 1, 3)
    kernel = kind(torch.tensor([2.0]).double())  # type: ignore[call-arg]
    step = torch.tensor([[1e-5, -2e-5, 3e-5]]).double()
    pull_back = pulled(kernel.along(Line.at(z + step), z), torch.ones(1, 1, 1, 1, dtype=torch.float64), 3)
    torch.testing.assert_close(pull_back[:, 0], -curvature * step / 4, rtol=1e-4, atol=0)


def test_a_kernel_says_whether_autograd_is_behind_it() -> None:
    g = generator(0)
    (closed, _), (unknown, _), (offset, _) = rbf(g), wrapped(g), constant(g)
    assert isinstance(unknown, Autograd)
    assert unknown.autograd
    assert Scale(Sum((closed, Product((offset, unknown)))), torch.tensor(2.0).double()).autograd
    assert not Scale(Sum((closed, Product((offset, closed)))), torch.tensor(2.0).double()).autograd


class Unknown(Kernel):
    """A user's kernel that gives its values alone."""

    def __call__(self, X: Tensor, Z: Tensor) -> Tensor:
        return torch.exp(-((X[:, None] - Z) ** 2).sum(-1) / 2)

    def diagonal(self, X: Tensor) -> Tensor:
        return torch.ones_like(X[:, 0])


def test_a_kernel_of_the_users_own_works_and_says_that_autograd_is_behind_it() -> None:
    g = generator(0)
    path, Z, W = Line(normal(g, 1, 3), normal(g, 2, 3), uniform(g, 0, 1, 2, 3)), normal(g, 4, 3), normal(g, 2, 1, 3, 4)
    rbf_section = RBF(torch.ones(1, dtype=torch.float64)).along(path, Z)
    torch.testing.assert_close(pulled(Unknown().along(path, Z), W, 3), pulled(rbf_section, W, 3))
    assert Unknown().autograd
