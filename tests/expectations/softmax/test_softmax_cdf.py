"""The cdf of a Gaussian plus a Gumbel variable and its two derivatives (3.1)."""

import mpmath as mp
import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gplens.expectations.softmax.cdf import cdf
from oracles import softmax as oracle
from oracles import softmax_mpmath

SDS = [0, 1e-15, 1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.07, 0.12, 0.2, 0.29, 0.31, 0.45, 0.59, 0.61, 1, 2.5, 7, 20]


def evaluate(s: ArrayLike, m: ArrayLike, v: ArrayLike, epsilon: float) -> Tensor:
    return cdf(*(torch.tensor(np.asarray(x, float)) for x in (s, m, v)), epsilon)


@pytest.mark.parametrize("epsilon", [1e-7, 1e-10, 1e-13])
@pytest.mark.parametrize("shift", [0.0, 0.0371, -3.3])
def test_the_three_functions_hold_their_error(epsilon: float, shift: float) -> None:
    """All standard deviations in one call, against one trapezoid per class."""
    s = np.arange(-12, 40, 0.31)
    got = evaluate(s, np.full(len(SDS), shift), np.square(SDS), epsilon)
    expected = np.stack([oracle.gumbel_gauss(s, shift, sd**2) for sd in SDS])
    assert np.abs(got.numpy() - expected).max() < 1.5 * epsilon


@pytest.mark.parametrize("sd", [0.0, 0.05, 0.5, 3.0])
def test_values_equal_mpmath(sd: float) -> None:
    s = [-2.0, 0.0, 4.0]
    got = evaluate(s, [0.3], [sd**2], 1e-14)[0, :2]
    with mp.workdps(softmax_mpmath.DIGITS):
        expected = [softmax_mpmath.gumbel_gauss_mp(mp.mpf(s_k), mp.mpf(0.3), mp.mpf(sd) ** 2) for s_k in s]
    assert np.abs(got.numpy().T - np.array(expected, float)).max() < 1e-13


def test_far_left_is_zero_and_far_right_is_one() -> None:
    got = evaluate([-700.0, -300.0, 300.0, 700.0], np.zeros(4), [0, 0.01, 1, 400.0], 1e-12)
    assert torch.isfinite(got).all()
    assert (got[:, 0, :2].abs() < 1e-12).all()
    assert ((got[:, 0, 2:] - 1).abs() < 1e-12).all()
    assert (got[:, 1:].abs() < 1e-12).all()


def test_classes_far_below_all_nodes_are_one() -> None:
    """Their lattice would be long; its mass is collected in one column."""
    s, pairs = np.linspace(0, 30, 7), np.array([(-500.0, 4.0), (-5000.0, 400.0), (-90.0, 400.0)])
    got = evaluate(s, pairs[:, 0], pairs[:, 1], 1e-12)
    expected = np.stack([oracle.gumbel_gauss(s, m, v) for m, v in pairs])
    assert np.abs(got.numpy() - expected).max() < 1e-12
