"""Identities of the exact softmax: sums, shifts, permutations; no element depends on its neighbours."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from torch import Tensor

from gplens.expectations.softmax.integral import derivatives, softmax_moments
from rounding import assert_rounded

TINY_TO_HUGE = [0, 1e-30, 1e-12, 1e-6, 1e-3, 0.01, 0.1, 0.5, 1, 4, 20, 100, 400]

Case = tuple[Sequence[float], Sequence[float]]
"""Means and variances of the classes."""


def tensors(*arrays: ArrayLike) -> tuple[Tensor, ...]:
    return tuple(torch.tensor(np.asarray(array, float)) for array in arrays)


variances = st.one_of(st.sampled_from([0.0, 1e-30, 1e-12, 400.0]), st.floats(0, 400), st.floats(0, 1))
marginals = st.integers(2, 12).flatmap(
    lambda c: st.tuples(
        st.lists(st.floats(-100, 100), min_size=c, max_size=c), st.lists(variances, min_size=c, max_size=c)
    )
)


def assert_sums(pair: Case, tolerance: float) -> None:
    result = softmax_moments(*tensors([pair[0]], [pair[1]]), tolerance=tolerance)
    by_m, by_v = result.jacobian()
    assert (result.value >= 0).all()
    assert abs(float(result.value.sum()) - 1) < 1e-12
    assert by_m.sum(1).abs().max() < 1e-12
    assert by_v.sum(1).abs().max() < 1e-12
    assert by_m.sum(2).abs().max() < 1e-12


@settings(max_examples=8)
@given(pair=marginals, tolerance=st.sampled_from([1e-6, 1e-9, 1e-11]))
def test_probabilities_sum_to_one_and_derivatives_to_zero(pair: Case, tolerance: float) -> None:
    """Over the classes; the derivatives by m, which are symmetric, also over j (a common shift changes nothing)."""
    assert_sums(pair, tolerance)


@pytest.mark.slow
@settings(max_examples=50)
@given(pair=marginals, tolerance=st.sampled_from([1e-6, 1e-9, 1e-11]))
def test_sums_of_fifty_examples(pair: Case, tolerance: float) -> None:
    assert_sums(pair, tolerance)


@settings(max_examples=20)
@given(pair=marginals, shift=st.floats(-1000, 1000), seed=st.integers(0, 99))
def test_neither_order_nor_a_common_shift_matters(pair: Case, shift: float, seed: int) -> None:
    m, v = tensors([pair[0]], [pair[1]])
    order = torch.from_numpy(np.random.default_rng(seed).permutation(m.shape[1]))
    plain, moved = softmax_moments(m, v), softmax_moments((m + shift)[:, order], v[:, order])
    assert (plain.value[:, order] - moved.value).abs().max() < 1e-10
    for jacobian, permuted in zip(plain.jacobian(), moved.jacobian(), strict=True):
        assert (jacobian[:, order][:, :, order] - permuted).abs().max() < 1e-10


def test_an_element_does_not_depend_on_its_neighbours() -> None:
    rng = np.random.default_rng(1)
    m, v = tensors(rng.uniform(-100, 100, (60, 5)), rng.choice(TINY_TO_HUGE, size=(60, 5)))
    together = softmax_moments(m, v).value
    alone = torch.cat([softmax_moments(a[None], b[None]).value for a, b in zip(m, v, strict=True)])
    assert (together - alone).abs().max() < 1e-9


def test_derivatives_of_some_classes_are_rows_of_the_jacobian() -> None:
    rng = np.random.default_rng(2)
    m, v = tensors(rng.normal(size=(300, 7)), rng.uniform(0, 9, (300, 7)))
    result = softmax_moments(m, v)
    value, *streamed = derivatives(m, v, (5, 2))
    for jacobian, some in zip(result.jacobian(), streamed, strict=True):
        assert (some - jacobian[:, [5, 2]]).abs().max() < 1e-14
    assert_rounded(value, result.value, roundings=64)  # sums over the nodes of (3.2)


def test_no_elements_are_no_work() -> None:
    m = torch.empty(0, 3, dtype=torch.float64)
    assert softmax_moments(m, m).value.shape == (0, 3)
    assert softmax_moments(m, m).jacobian()[1].shape == (0, 3, 3)
