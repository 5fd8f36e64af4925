"""The exact softmax (3.2) to (3.4), (3.8): against quadrature over the latents, mpmath and draws."""

from collections.abc import Callable, Sequence
from functools import cache

import mpmath as mp
import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gplens.expectations.softmax.integral import softmax_moments
from oracles import softmax as oracle
from oracles import softmax_mpmath
from oracles.softmax import Array, Triple
from oracles.softmax_mpmath import Kinds

TINY_TO_HUGE = [0, 1e-30, 1e-12, 1e-6, 1e-3, 0.01, 0.1, 0.5, 1, 4, 20, 100, 400]

Reference = Callable[[Array, Array], Triple]
Case = tuple[Sequence[float], Sequence[float]]


def tensors(*arrays: ArrayLike) -> tuple[Tensor, ...]:
    return tuple(torch.tensor(np.asarray(array, float)) for array in arrays)


def worst(m: ArrayLike, v: ArrayLike, tolerance: float, reference: Reference) -> float:
    """The largest error of values and Jacobians over the elements."""
    m, v = tensors(m, v)
    result = softmax_moments(m, v, tolerance=tolerance)
    got = (result.value, *result.jacobian())
    expected = zip(*(reference(*pair) for pair in zip(m.numpy(), v.numpy(), strict=True)), strict=True)
    return max(np.abs(g.numpy() - np.stack(w)).max() for g, w in zip(got, expected, strict=True))


EXTREMES: list[Case] = [
    *(
        (m, v)
        for m in ((0.3, 0), (100, -100), (-97, -100))
        for v in ((0, 0), (1e-30, 0), (1e-12, 1e-30), (400, 0), (1e-12, 400), (400, 1e-30), (1e-12, 1e-12))
    ),
    ((1, 0, -1), (0, 0, 0)),
    ((100, 99, 98), (1e-30, 0, 1e-12)),
    ((0, 1, 0.5), (0, 1e-12, 400)),
    ((5, -100, 4), (400, 0, 1e-30)),
    ((-100, 60, 100), (1e-30, 400, 1e-12)),
    ((0.2, 0, -0.3), (1, 0.01, 0)),
]


@pytest.mark.parametrize(("m", "v"), EXTREMES)
def test_extremes_equal_nested_quadrature_in_mpmath(m: Sequence[float], v: Sequence[float]) -> None:
    """To 15 digits; the oracle knows no Gumbel variable."""
    assert worst([m], [v], 1e-12, softmax_mpmath.extended) < 1e-12


SEVERAL_WIDE: list[Case] = [
    ([0, 0], [1, 1]),
    ([-100, 100], [400, 400]),
    ([60, 40], [400, 400]),
    ([1, 0, -1], [0.3, 1, 2]),
    ([0, 0, 0], [0, 1e-12, 4]),
    ([10, 0, 3], [100, 1, 0]),
    ([3, -5, 0], [400, 4, 0]),
]


@pytest.mark.parametrize(("m", "v"), SEVERAL_WIDE)
def test_several_wide_classes_equal_nested_quadrature(m: Sequence[float], v: Sequence[float]) -> None:
    assert worst([m], [v], 1e-11, oracle.nested) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_ten_million_draws_agree_within_four_standard_errors(classes: int) -> None:
    """Values and both derivatives at random (m, v)."""
    rng = np.random.default_rng(classes)
    m, v = tensors(rng.normal(scale=2, size=classes), rng.uniform(0, 4, classes))
    means, errors = oracle.draws(m, v, 10_000_000, seed=classes)
    exact = softmax_moments(m[None], v[None])
    for ours, mean, error in zip((exact.value, *exact.jacobian()), means, errors, strict=True):
        assert error.max() < 2e-4
        assert ((ours[0] - mean).abs() <= 4 * error).all()


@pytest.mark.parametrize(
    ("classes", "spread", "count"), [(2, 5, 20), (3, 30, 15), (10, 3, 10), (10, 100, 10), (100, 3, 1)]
)
def test_any_mixture_of_variances_holds_the_tolerance(classes: int, spread: float, count: int) -> None:
    rng = np.random.default_rng(classes)
    m = rng.uniform(-spread, spread, (count, classes))
    v = rng.choice(TINY_TO_HUGE, size=m.shape)
    reference = cache(oracle.dense)
    for tolerance in (1e-6, 1e-9, 1e-11):
        assert worst(m, v, tolerance, lambda m, v: reference(tuple(m), tuple(v))) < tolerance


@pytest.mark.parametrize("v", TINY_TO_HUGE)
def test_equal_variances_hold_the_tolerance(v: float) -> None:
    m = np.random.default_rng(0).normal(scale=3, size=(2, 10))
    assert worst(m, np.full_like(m, v), 1e-10, oracle.dense) < 1e-10


@pytest.mark.slow
def test_beyond_the_stated_range_it_is_still_exact() -> None:
    """Variances of 1600 and means of 10^4."""
    m, v = [[0, 1e4, 9.97e3], [0, -300, 10]], [[1, 1600, 900], [1600, 0.01, 0]]
    assert worst(m, v, 1e-9, oracle.dense) < 1e-9


def test_a_thousand_classes_hold_the_tolerance_and_the_identities() -> None:
    rng = np.random.default_rng(0)
    m = rng.normal(scale=3, size=(1, 1000))
    v = rng.choice(TINY_TO_HUGE[:-3], size=m.shape)
    result = softmax_moments(*tensors(m, v), tolerance=1e-10)
    by_m, by_v = result.jacobian()
    columns = [0, 17, int(m.argmax()), 999]
    got = (result.value[0], by_m[0][:, columns], by_v[0][:, columns])
    for ours, expected in zip(got, oracle.dense(m[0], v[0], columns), strict=True):
        assert np.abs(ours.numpy() - expected).max() < 1e-10
    assert abs(float(result.value.sum()) - 1) < 1e-12
    assert max(float(by_m.sum(1).abs().max()), float(by_v.sum(1).abs().max())) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "counts"),
    [
        ([(0, 0.5), (2, 0)], (999, 1)),
        ([(0, 2), (-1, 0.01), (3, 0)], (5, 10, 1)),
        ([(0, 4), (-5, 0)], (100, 900)),
    ],
)
def test_many_classes_equal_mpmath(kinds: Kinds, counts: Sequence[int]) -> None:
    """The value of one class of each kind, 30 digits, nodes of another rule."""
    m, v = (np.repeat([kind[i] for kind in kinds], counts)[None] for i in (0, 1))
    value = softmax_moments(*tensors(m, v), tolerance=1e-11).value[0]
    for k, first in enumerate(np.cumsum([0, *counts[:-1]])):
        assert abs(float(value[first]) - float(softmax_mpmath.grouped(kinds, counts, k))) < 1e-11


@pytest.mark.parametrize(("m", "v"), [(0.0, 0.0), (0.7, 1.3), (-4, 9), (2, 400), (-60, 800), (1e-3, 1e-12)])
def test_two_classes_are_the_logistic_normal_integral(m: float, v: float) -> None:
    """E S_1 = E sigmoid(f), f ~ N(m1 - m2, v1 + v2), and its derivatives by differences in 30 digits."""
    result = softmax_moments(*tensors([[m + 5, 5]], [[0.25 * v, 0.75 * v]]), tolerance=1e-11)
    by_m, by_v = result.jacobian()
    assert abs(float(result.value[0, 0]) - float(softmax_mpmath.logistic_normal(m, v))) < 1e-11
    with mp.workdps(softmax_mpmath.DIGITS):
        h = mp.mpf(10) ** -9
        slope = (softmax_mpmath.logistic_normal(m + h, v) - softmax_mpmath.logistic_normal(m - h, v)) / (2 * h)
        if v > 0:
            h = min(h, mp.mpf(v) / 10**4)
            curvature = (softmax_mpmath.logistic_normal(m, v + h) - softmax_mpmath.logistic_normal(m, v - h)) / (2 * h)
        else:
            curvature = mp.diff(lambda x: 1 / (1 + mp.exp(-x)), m, 2) / 2
    signs = np.array([[1, -1], [-1, 1]])
    assert np.abs(by_m[0].numpy() - float(slope) * signs).max() < 1e-11
    assert np.abs(by_v[0].numpy() - float(curvature) * signs[:, :1]).max() < 1e-11


STEEP: list[Case] = [
    ((0.3, 0), (400, 1e-12)),
    ((2, 0, -1), (400, 1e-30, 1e-12)),
    ((-100, 60, 100), (1e-30, 400, 1e-12)),
    ((1, 0, 0.5), (1, 0.3, 1e-12)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("m", "v"), STEEP)
def test_derivatives_equal_central_differences_in_extended_precision(m: Sequence[float], v: Sequence[float]) -> None:
    """Of the value of class 0 by nested quadrature in 60 digits, in every m_j and v_j: steps of 1e-12 and 1e-12 v_j."""
    by_m, by_v = (
        jacobian[0, 0].numpy() for jacobian in softmax_moments(*tensors([m], [v]), tolerance=1e-12).jacobian()
    )
    for j in range(len(m)):
        assert abs(by_m[j] - float(central(m, v, j, 0, mp.mpf("1e-12")))) < 1e-12
        assert abs(by_v[j] - float(central(m, v, j, 1, mp.mpf("1e-12") * v[j]))) < 1e-12


def central(m: Sequence[float], v: Sequence[float], j: int, which: int, h: mp.mpf) -> mp.mpf:
    """The central difference in m_j (which = 0) or v_j (1)."""
    with mp.workdps(60):
        ends = []
        for sign in (1, -1):
            moved = [[mp.mpf(x) for x in m], [mp.mpf(x) for x in v]]
            moved[which][j] += sign * h
            ends.append(softmax_mpmath.extended_value(*moved, nodes=v))
        return (ends[0] - ends[1]) / (2 * h)


@pytest.mark.slow
def test_a_thousand_classes_over_the_whole_range() -> None:
    """C = 1000, |m| to 100, v from 0 to 400 in any mixture; derivatives in the likeliest and the widest classes."""
    rng = np.random.default_rng(4)
    means, variances = rng.uniform(-100, 100, 1000), rng.choice(TINY_TO_HUGE, size=1000)
    result = softmax_moments(*tensors(means[None], variances[None]))
    likely, wide = np.argsort(-result.value[0].numpy())[:4], np.flatnonzero(variances == 400)[:4]
    columns = [int(j) for j in (*likely, *wide)]
    expected = oracle.dense(means, variances, columns)
    by_m, by_v = result.jacobian()
    for actual, exact in zip((result.value[0], by_m[0][:, columns], by_v[0][:, columns]), expected, strict=True):
        assert np.abs(actual.numpy() - exact).max() < 1e-11
