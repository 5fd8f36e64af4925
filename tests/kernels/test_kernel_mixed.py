"""The derivative of a kernel in both arguments, against central differences of its values."""

import pytest
import torch
from torch import Tensor

from conformance.zoo import EVERY_KERNEL, FEATURES, KernelCase, generator, normal
from gplens.kernels import Kernel

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


@pytest.mark.parametrize("case", EVERY_KERNEL, ids=repr)
def test_mixed_derivatives_are_those_of_the_values(case: KernelCase) -> None:
    kernel, _ = case.build(5)
    X, Y = normal(generator(6), 3, FEATURES), normal(generator(7), 4, FEATURES)
    mixed = kernel.mixed(X, Y)
    assert (mixed - differences(kernel, X, Y)).abs().max() <= 1e-5 * (1 + mixed.abs().max())
    torch.testing.assert_close(kernel.mixed_diagonal(X, Y), mixed.diagonal(dim1=2, dim2=3), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(mixed, kernel.mixed(Y, X).permute(1, 0, 3, 2), rtol=1e-9, atol=1e-10)
