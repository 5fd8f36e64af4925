"""How long a path is in the eyes of a kernel: what places the first panels of the path."""

import pytest
import torch
from hypothesis import given

from conformance.zoo import EVERY_KERNEL, FEATURES, KernelCase, generator, normal, seeds, uniform
from gplens.kernels import (
    RBF,
    ActiveDimensions,
    Autograd,
    Constant,
    Linear,
    Periodic,
    Product,
    Scale,
    Sum,
)
from gplens.kernels.stationary import Stationary
from gplens.lines.line import Line

a = torch.tensor(1.3).double()


def path(seed: int, size: float = 1.0) -> Line:
    g = generator(seed)
    return Line(normal(g, 1, FEATURES), size * normal(g, 3, FEATURES), torch.zeros(3, 0, dtype=torch.float64))


STATIONARY = [
    case
    for case in EVERY_KERNEL
    if isinstance(kernel := case.build(0)[0], Stationary) and type(kernel).length is Stationary.length
]


@pytest.mark.parametrize("case", STATIONARY, ids=repr)
@given(seed=seeds)
def test_length_of_a_stationary_kernel_is_the_distance_in_lengthscales(case: KernelCase, seed: int) -> None:
    """|d / l|, scaled or not."""
    kernel, line = case.build(seed)[0], path(seed)
    assert isinstance(kernel, Stationary)
    expected = ((line.d / kernel.lengthscale) ** 2).sum(1).sqrt()
    torch.testing.assert_close(kernel.length(line), expected)
    torch.testing.assert_close(Scale(kernel, a).length(line), expected)


def test_the_stationary_kernels_are_found() -> None:
    names = {"rbf", "matern32", "matern52", "rational quadratic", "cosine", "matern 7/2 by Bessel functions"}
    assert names <= {case.name for case in STATIONARY}


@given(seed=seeds)
def test_length_by_chords_is_that_of_the_rbf_kernel(seed: int) -> None:
    """k(x,x) + k(y,y) - 2 k(x,y) = 2 (1 - exp(-s^2/2)) = s^2 + O(s^4): short chords add up to the distance."""
    scale, line = uniform(generator(seed), 0.5, 3, FEATURES), path(seed, 2.0)
    rbf = RBF(scale)
    wrapped = Autograd(lambda X, Z: 2.5 * rbf(X, Z), lambda X: 2.5 * rbf.diagonal(X))
    torch.testing.assert_close(wrapped.length(line), rbf.length(line), rtol=1e-2, atol=0)


def test_length_of_a_compound_is_the_longest_of_a_sum_and_the_root_of_squares_of_a_product() -> None:
    short, long, line = torch.tensor([2.0]).double(), torch.tensor([0.5]).double(), path(0)
    size = (line.d**2).sum(1).sqrt()
    torch.testing.assert_close(Sum((RBF(short), RBF(long))).length(line), size / 0.5)
    both = (short**-2 + long**-2) ** -0.5  # the product of two RBF kernels is one RBF kernel
    torch.testing.assert_close(Product((RBF(short), RBF(long))).length(line), RBF(both).length(line))


def test_length_sees_the_active_features_alone() -> None:
    line = path(1)
    kernel = ActiveDimensions(RBF(torch.tensor([0.5]).double()), torch.tensor([2]))
    torch.testing.assert_close(kernel.length(line), line.d[:, 2].abs() / 0.5)


def test_length_of_a_kernel_that_has_no_scale_is_zero() -> None:
    for kernel in (Constant(a), Linear(a[None])):
        assert torch.equal(kernel.length(path(0)), torch.zeros(3, dtype=torch.float64))


def test_length_of_the_periodic_kernel_counts_half_turns() -> None:
    """2 |d| / p for a wide kernel; a narrow peak makes it longer."""
    line, period = path(0), torch.tensor([1.5]).double()
    turns = (2 * line.d / period).abs().sum(1)
    torch.testing.assert_close(Periodic(torch.tensor([4.0]).double(), period).length(line), turns)
    torch.testing.assert_close(Periodic(torch.tensor([0.25]).double(), period).length(line), 2 * turns)


@pytest.mark.parametrize("case", EVERY_KERNEL, ids=repr)
def test_length_is_finite_and_grows_with_the_path(case: KernelCase) -> None:
    kernel, _ = case.build(3)
    once, twice = kernel.length(path(4)), kernel.length(path(4, 2.0))
    assert once.isfinite().all()
    assert (once >= 0).all()
    assert (twice >= once * 0.99).all()
