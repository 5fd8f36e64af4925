"""Derivatives of kernels in both arguments, against central differences; the fold against sums of autograd."""

from functools import partial

import pytest
import torch
from torch import Tensor

from conformance.zoo import EVERY_KERNEL, FEATURES, KernelCase, generator, normal, uniform
from gplens.kernels import Kernel
from gplens.lines.forms import Quadratic
from gplens.lines.line import Line
from oracles.dense import gradient

STEP = 2.0**-13
"""Rounding leaves some 1e-16/h^2 = 1e-8, truncation h^2 = 1e-8."""


def differences(kernel: Kernel, X: Tensor, Y: Tensor) -> Tensor:
    """(k(x+h, y+h) - k(x+h, y-h) - k(x-h, y+h) + k(x-h, y-h)) / 4h^2 for all pairs of features."""
    steps = STEP * torch.eye(X.shape[1], dtype=X.dtype)
    rows = []
    for a in steps:
        far = [kernel(X + a, Y + b) - kernel(X + a, Y - b) for b in steps]
        near = [kernel(X - a, Y + b) - kernel(X - a, Y - b) for b in steps]
        rows.append((torch.stack(far, dim=-1) - torch.stack(near, dim=-1)) / (4 * STEP**2))
    return torch.stack(rows, dim=-2)


def slopes(kernel: Kernel, X: Tensor, Y: Tensor) -> Tensor:
    """(k(x+h, y) - k(x-h, y)) / 2h."""
    steps = STEP * torch.eye(X.shape[1], dtype=X.dtype)
    return torch.stack([(kernel(X + a, Y) - kernel(X - a, Y)) / (2 * STEP) for a in steps], dim=-1)


@pytest.mark.parametrize("case", EVERY_KERNEL, ids=repr)
def test_derivatives_between_nodes_are_those_of_the_values(case: KernelCase) -> None:
    """k, its gradient in either argument and its mixed derivatives, between different nodes of two lines."""
    kernel, _ = case.build(5)
    x0, d, g = normal(generator(6), 2, FEATURES), normal(generator(7), 2, FEATURES), generator(8)
    left, right = Line(x0, d, uniform(g, 0, 1, 2, 3)), Line(x0, d, uniform(g, 0, 1, 2, 4))
    H, between = normal(g, 2, 3, 4), kernel.between(left, right)
    for i, (X, Y) in enumerate(zip(left.points(), right.points(), strict=True)):
        mixed, by_x = differences(kernel, X, Y), slopes(kernel, X, Y)
        torch.testing.assert_close(between.values[i], kernel(X, Y), rtol=1e-12, atol=1e-12)
        assert (between.by_x[i] - by_x).abs().max() <= 1e-6 * (1 + by_x.abs().max())
        assert (between.by_y[i] - slopes(kernel, Y, X).transpose(0, 1)).abs().max() <= 1e-6 * (1 + by_x.abs().max())
        assert (between.by_both(True)[i] - mixed).abs().max() <= 1e-5 * (1 + mixed.abs().max())
        points = kernel.between_points(X, Y)
        for both, one in ((points.by_x, between.by_x), (points.by_y, between.by_y), (points.values, between.values)):
            torch.testing.assert_close(both[0], one[i], rtol=1e-11, atol=1e-12)
        for full in (True, False):
            torch.testing.assert_close(points.by_both(full)[0], between.by_both(full)[i], rtol=1e-11, atol=1e-12)
    torch.testing.assert_close(
        between.by_both(False), between.by_both(True).diagonal(dim1=3, dim2=4), rtol=1e-12, atol=1e-12
    )
    for full in (True, False):
        expected = torch.einsum("bqp,bqp...->b...", H, between.by_both(full))
        torch.testing.assert_close(between.by_both_sum(H, full=full), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dims", [[1], [2, 0], []], ids=repr)
@pytest.mark.parametrize("case", EVERY_KERNEL, ids=repr)
def test_derivatives_in_some_features(case: KernelCase, dims: list[int]) -> None:
    """The central differences in these features, in their order, and none in the others."""
    kernel, _ = case.build(5)
    g, chosen = generator(11), torch.tensor(dims, dtype=torch.int64)
    X, Y = normal(g, 3, FEATURES), normal(g, 4, FEATURES)
    few, mixed, by_x = kernel.between_points(X, Y).columns(chosen), differences(kernel, X, Y), slopes(kernel, X, Y)
    size = 1 + mixed.abs().max() + by_x.abs().max()
    torch.testing.assert_close(few.values[0], kernel(X, Y), rtol=1e-12, atol=1e-12)
    pairs = (
        (few.by_x[0], by_x[..., chosen]),
        (few.by_y[0], slopes(kernel, Y, X).transpose(0, 1)[..., chosen]),
        (few.by_both(True)[0], mixed[..., chosen, :][..., chosen]),
        (few.by_both(False)[0], mixed.diagonal(dim1=2, dim2=3)[..., chosen]),
    )
    for derivative, difference in pairs:
        assert derivative.shape == difference.shape
        assert float((derivative - difference).abs().sum()) <= 1e-4 * size


@pytest.mark.parametrize("same", [True, False], ids=["same nodes", "other nodes"])
@pytest.mark.parametrize("full", [True, False], ids=["full", "diagonal"])
@pytest.mark.parametrize("case", EVERY_KERNEL, ids=repr)
def test_fold_is_the_sum_over_gradients_at_pairs_of_nodes(case: KernelCase, full: bool, same: bool) -> None:
    """sum_qp H_qp sum_nm d_k k(x_q, z_n) A_nm d_l k(z_m, y_p), all gradients by autograd on an independent formula."""
    (kernel, naive), g = case.build(9), generator(10)
    x0, d, Z, half = normal(g, 2, FEATURES), normal(g, 2, FEATURES), normal(g, 5, FEATURES), normal(g, 5, 5)
    left = Line(x0, d, uniform(g, 0, 1, 2, 3))
    right = left if same else Line(x0, d, uniform(g, 0, 1, 2, 4))
    H, A = normal(g, 2, 3, right.t.shape[1]), half @ half.T
    J, K = (
        torch.stack([gradient(partial(_section, naive, z), line.points()) for z in Z], dim=2) for line in (left, right)
    )
    expected = torch.einsum("bqp,bqnk,nm,bpml->bkl", H, J, A, K)
    if not full:
        expected = expected.diagonal(dim1=1, dim2=2)
    folded = kernel.fold(left, right, kernel.prepare(Z), H, Quadratic.dense(A[None]), full=full)
    torch.testing.assert_close(folded, expected, rtol=1e-9, atol=1e-10)
    large = kernel.fold(left, right, kernel.prepare(Z), H, Quadratic.dense(1e9 * A[None]), full=full)  # through F
    torch.testing.assert_close(large / 1e9, expected, rtol=1e-9, atol=1e-10)


def _section(naive: "object", z: Tensor, x: Tensor) -> Tensor:
    return naive(x, z)  # type: ignore[operator]
