"""Misprints in Section 4: the sum over the latent functions of a model with several outputs."""

from collections.abc import Callable
from functools import cache

import numpy as np
import paper_gplens as gplens
import paper_oracle as oracle
import pytest
import torch
from paper_example import C, assert_true, compare
from paper_symbols import expectation, latents, softmax

from gplens.links import Softmax

F = np.array([0.7, -0.4, 0.2])
"""Logits at which derivatives of the softmax are compared."""


@cache
def softmax_hessians() -> np.ndarray:
    """gplens' d^2 S_c / df_i df_j: differences of the first derivatives at certain logits, which are the features."""
    logits = gplens.certain(lambda x: x, C, C)
    return gplens.central(lambda f: gplens.derivative(logits, Softmax(), x=f), F)


@pytest.mark.parametrize("c", range(C))
def test_softmax_derivatives_are_printed_right(c: int) -> None:
    """The other contrast: the five cases that open C.5 hold as they stand, and `softmax` is the same."""
    S = np.exp(F) / np.exp(F).sum()

    def entry(i: int, j: int) -> float:
        if i == j:
            return S[c] * (1 - 3 * S[c] + 2 * S[c] ** 2) if i == c else S[c] * S[i] * (2 * S[i] - 1)
        if c in (i, j):
            return S[i] * S[j] * (2 * S[c] - 1)
        return 2 * S[c] * S[i] * S[j]

    truth = oracle.hessian(lambda f: torch.softmax(f, -1)[c])(oracle.tensor(F)).numpy()
    assert_true(np.array([[entry(i, j) for j in range(C)] for i in range(C)]), truth)
    assert_true(softmax(F, c).hessian, truth)
    assert_true(softmax_hessians()[c], truth)


def slopes(f: np.ndarray, c: int) -> np.ndarray:
    """d S_c / d f_j at every node: (nodes, C)."""
    S = np.exp(f) / np.exp(f).sum(-1, keepdims=True)
    return S[:, [c]] * (np.eye(f.shape[-1])[c] - S)


def test_summand_j_takes_the_derivative_of_latent_j() -> None:
    """`meanofigmulti` multiplies every d S_c / d f_j by the derivative of f^(r); it is f^(j).

    The slopes of the softmax sum to zero over j, so with any one fixed index the whole sum is zero.
    """
    c, q = 0, latents()

    def summed(index: Callable[[int], int]) -> np.ndarray:
        def integrand(f: np.ndarray) -> np.ndarray:
            conditional = q.m_k + (q.c_k / q.v[:, None]) * (f - q.m)[..., None]  # E[d_k f_j | f]
            return sum(slopes(f, c)[:, [j]] * conditional[:, index(j)] for j in range(C))

        return expectation(integrand)

    compare(
        oracle.gradient(lambda x: oracle.class_probability(x, c)),
        right=summed(lambda j: j),
        gplens=gplens.derivative(gplens.classes(), Softmax())[c],
        printed=summed(lambda _: 1),
        damage=1.0,
    )


def test_link_sees_all_the_latents() -> None:
    """`meanofigmulti` and `multiggptarget` stop the arguments of G_c at f^(j); they run to f^(C)."""
    c, q = 0, latents()

    def summed(count: Callable[[int], int]) -> np.ndarray:
        def integrand(f: np.ndarray) -> np.ndarray:
            conditional = q.m_k + (q.c_k / q.v[:, None]) * (f - q.m)[..., None]
            return sum(slopes(f[:, : count(j)], c)[:, [j]] * conditional[:, j] for j in range(C))

        return expectation(integrand)

    compare(
        oracle.gradient(lambda x: oracle.class_probability(x, c)),
        right=summed(lambda _: C),
        gplens=gplens.derivative(gplens.classes(), Softmax())[c],
        printed=summed(lambda j: j + 1),
        damage=0.514,
    )
