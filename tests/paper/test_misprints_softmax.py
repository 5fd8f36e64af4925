"""Misprints in C.5 and the softmax row of Theorem 1: the second-order expansion of the softmax."""

from collections.abc import Callable

import numpy as np
import paper_gplens as gplens
import paper_oracle as oracle
import pytest
import torch
from paper_example import C, assert_true, assert_wrong, compare, relative_error
from paper_symbols import Latents, expectation, latents, regression, softmax
from torch import Tensor
from torch.func import grad

from gplens.links import Softmax, SoftmaxTaylor

F = np.array([0.7, -0.4, 0.2])
"""Logits at which derivatives of the softmax are compared."""


def softmax_jacobian(f: np.ndarray) -> np.ndarray:
    """gplens' dS_c/df_j at certain logits: the logits are the features."""
    return gplens.derivative(gplens.certain(lambda x: x, C, C), Softmax(), x=f)


def own_term(q: Latents, c: int, i: int) -> Callable[[Tensor], Tensor]:
    """The oracle's H_c(f) = S_c (1 - S_c) E[d_i f_c | f]."""
    m, ratio = oracle.tensor(q.m), oracle.tensor(regression(q, c, i))

    def term(f: Tensor) -> Tensor:
        S = torch.softmax(f, -1)[c]
        return S * (1 - S) * (q.m_k[c, i] + ratio @ (f - m))

    return term


def cross_term(q: Latents, c: int, j: int, i: int) -> Callable[[Tensor], Tensor]:
    """The oracle's H_cj(f) = S_c S_j E[d_i f_j | f]."""
    m, ratio = oracle.tensor(q.m), oracle.tensor(regression(q, j, i))

    def term(f: Tensor) -> Tensor:
        S = torch.softmax(f, -1)
        return S[c] * S[j] * (q.m_k[j, i] + ratio @ (f - m))

    return term


def test_expanded_product_keeps_sigma() -> None:
    """`lhssoftmaxtarget` expands into -S_c^2 x + S_c^2 mu; both lack Sigma. Read at component c."""
    c, i, q = 0, 0, latents()
    row = regression(q, c, i)

    def expanded(factor: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        def term(f: np.ndarray) -> np.ndarray:
            S = np.exp(f[:, c]) / np.exp(f).sum(-1)
            return (S - S**2) * q.m_k[c, i] + S * (f @ row - q.m @ row) - S**2 * (f @ factor - q.m @ factor)

        return term

    f, weight = oracle.latent_grid(oracle.tensor(q.m), oracle.tensor(q.v))
    compare(
        (weight * torch.vmap(own_term(q, c, i))(f)).sum().numpy(),
        right=expectation(expanded(row)),
        gplens=gplens.derivative(gplens.moving(c), Softmax())[c, i],
        printed=expectation(expanded(np.eye(C)[c])),
        damage=0.895,
    )


def test_gradient_of_the_own_term() -> None:
    """C.5 prints S (grad S)^2 mu_y and (Sigma x)^2 S grad S; the 2 is a factor in both, not an exponent."""
    c, i, q = 0, 1, latents()
    row, mu = regression(q, c, i), q.m_k[c, i]
    S, g, _ = softmax(F, c)
    common = g * mu + (row @ F) * g + row * S - row * S**2 - (row @ q.m) * g + (row @ q.m) * 2 * S * g
    compare(
        grad(own_term(q, c, i))(oracle.tensor(F)).numpy(),
        right=common - 2 * S * g * mu - 2 * (row @ F) * S * g,
        gplens=gplens.central(lambda f: softmax_jacobian(f)[c, c] * (mu + row @ (f - q.m)), F),
        printed=common - S * g**2 * mu - (row @ F) ** 2 * S * g,
        damage=1.443,
    )


def own_hessian(q: Latents, c: int, i: int, last: float, source: int | None = None) -> np.ndarray:
    """`nablahcfun` with `last` as the factor of its last term and the moments of latent `source` (c)."""
    j = c if source is None else source
    row, mu = regression(q, j, i), q.m_k[j, i]
    S, g, H = softmax(q.m, c)
    straight = H * mu - 2 * mu * np.outer(g, g) - 2 * mu * S * H
    return straight + np.outer(row, g) + np.outer(g, row) - 2 * S * np.outer(row, g) - last * S * np.outer(g, row)


def test_last_term_of_the_own_hessian_has_a_factor_two() -> None:
    """gplens' SoftmaxTaylor, with latent c alone depending on x, is what this Hessian serves to expand."""
    c, i, q = 0, 1, latents()
    term = own_term(q, c, i)
    truth = oracle.hessian(term)(oracle.tensor(q.m)).numpy()
    assert_true(own_hessian(q, c, i, 2), truth)
    assert_wrong(own_hessian(q, c, i, 1), truth, 0.188)
    assert relative_error(own_hessian(q, c, i, 1), own_hessian(q, c, i, 1).T) > 1e-3  # not even symmetric
    expanded = gplens.derivative(gplens.moving(c), SoftmaxTaylor())[c, i]
    assert_true(expanded, oracle.second_order(term, q.m, q.v))


@pytest.mark.parametrize(("j", "damage"), [(1, 1.61), (2, 1.60)])
def test_own_term_uses_the_derivative_of_its_own_latent(j: int, damage: float) -> None:
    """`hcfun` and `nablahcfun` carry the moments of a latent (j) that is not bound; it is c."""
    c, i, q = 0, 1, latents()

    def second_order(source: int) -> np.ndarray:
        S, _, _ = softmax(q.m, c)
        return S * (1 - S) * q.m_k[source, i] + 0.5 * q.v @ np.diag(own_hessian(q, c, i, 2, source))

    compare(
        oracle.second_order(own_term(q, c, i), q.m, q.v),
        right=second_order(c),
        gplens=gplens.derivative(gplens.moving(c), SoftmaxTaylor())[c, i],
        printed=second_order(j),
        damage=damage,
    )


def cross_hessian(q: Latents, c: int, j: int, i: int, last: np.ndarray | None = None) -> np.ndarray:
    """`nablahcjfun`, with its last term in place of the outer product of Sigma and grad S_j if given."""
    row, mu = regression(q, j, i), q.m_k[j, i]
    (S, g, H), (Sj, gj, Hj) = softmax(q.m, c), softmax(q.m, j)
    straight = mu * (np.outer(g, gj) + H * Sj + np.outer(gj, g) + S * Hj)
    straight = straight + Sj * np.outer(g, row) + S * np.outer(gj, row) + Sj * np.outer(row, g)
    return straight + S * (np.outer(row, gj) if last is None else last)


def test_last_term_of_the_cross_hessian_is_an_outer_product() -> None:
    """`nablahcjfun` lacks the transpose of its last gradient; with vectors in code that is a dot product.

    With latent j alone depending on x, the derivative of class c is minus the cross term.
    """
    c, j, i, q = 0, 1, 1, latents()
    term = cross_term(q, c, j, i)
    dot = regression(q, j, i) @ softmax(q.m, j).gradient
    truth = oracle.hessian(term)(oracle.tensor(q.m)).numpy()
    assert_true(cross_hessian(q, c, j, i), truth)
    assert_wrong(cross_hessian(q, c, j, i, np.full((C, C), dot)), truth, 0.339)
    expanded = gplens.derivative(gplens.moving(j), SoftmaxTaylor())[c, i]
    assert_true(-expanded, oracle.second_order(term, q.m, q.v))


def softmax_row(q: Latents, c: int, *, last: float, bracket: bool) -> np.ndarray:
    """Theorem 1's softmax row at one path point; without the bracket the minus sign stops at H_cj."""
    sign = -1 if bracket else 1
    S, g, _ = softmax(q.m, c)
    row = np.zeros(2)
    for i in range(2):
        row[i] = S * (1 - S) * q.m_k[c, i] + 0.5 * q.v @ np.diag(own_hessian(q, c, i, last))
        for j in {*range(C)} - {c}:
            row[i] += g[j] * q.m_k[j, i] + sign * 0.5 * q.v @ np.diag(cross_hessian(q, c, j, i))
    return row


@pytest.mark.parametrize(("c", "damage"), [(0, 0.0142), (1, 0.0589), (2, 0.0100)])
def test_softmax_row_with_the_lost_factor(c: int, damage: float) -> None:
    """The factor two of `nablahcfun`, in the row of Theorem 1."""
    q = latents()
    compare(
        oracle.gradient(lambda x: oracle.expanded_probability(x, c)),
        right=softmax_row(q, c, last=2, bracket=True),
        gplens=gplens.derivative(gplens.classes(), SoftmaxTaylor())[c],
        printed=softmax_row(q, c, last=1, bracket=True),
        damage=damage,
    )


@pytest.mark.parametrize(("c", "damage"), [(0, 0.0754), (1, 0.459), (2, 0.265)])
def test_softmax_row_subtracts_the_second_order_terms(c: int, damage: float) -> None:
    """Theorem 1 and C.5 print - sum_j H_cj + 1/2 v' diag(...), with no bracket: all of it is subtracted."""
    q = latents()
    compare(
        oracle.gradient(lambda x: oracle.expanded_probability(x, c)),
        right=softmax_row(q, c, last=2, bracket=True),
        gplens=gplens.derivative(gplens.classes(), SoftmaxTaylor())[c],
        printed=softmax_row(q, c, last=2, bracket=False),
        damage=damage,
    )
