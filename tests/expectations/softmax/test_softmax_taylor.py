"""The paper's expansion, (3.9) to (3.12): it is what it says, and the misprint is one."""

import torch
from torch import Tensor
from torch.func import hessian, jacrev

from gplens.expectations.softmax.integral import softmax_moments
from gplens.expectations.softmax.taylor import taylor
from rounding import assert_rounded

GENERATOR = torch.Generator().manual_seed(0)
M = torch.randn(5, 4, generator=GENERATOR, dtype=torch.float64)
V = 2 * torch.rand(5, 4, generator=GENERATOR, dtype=torch.float64)
ROUNDINGS = 64
"""Sums over four classes of products of four probabilities and variances to 2: terms of size one, some tens of them."""


def softmax(m: Tensor) -> Tensor:
    return torch.softmax(m, -1)


def polynomial(m: Tensor, v: Tensor) -> Tensor:
    """T of (3.10) with the Hessian from autograd."""
    return softmax(m) + 0.5 * torch.einsum("cjj,j->c", hessian(softmax)(m), v)


def test_expansion_and_its_derivatives_equal_autograds() -> None:
    result = taylor(M, V)
    by_m, by_v = result.jacobian()
    for e in range(len(M)):
        assert_rounded(result.expansion[e], polynomial(M[e], V[e]), roundings=ROUNDINGS)
        assert_rounded(by_m[e], jacrev(polynomial)(M[e], V[e]), roundings=ROUNDINGS)
        assert_rounded(by_v[e], jacrev(polynomial, 1)(M[e], V[e]), roundings=ROUNDINGS)


def test_value_is_exact_and_the_derivatives_err_by_the_square_of_the_variance() -> None:
    assert_rounded(taylor(M, V).value, softmax_moments(M, V).value, roundings=ROUNDINGS)
    gaps = []
    for scale in (1e-1, 1e-2):
        truth = softmax_moments(M, scale * V, tolerance=1e-11).jacobian()[0]
        gaps.append(float((taylor(M, scale * V).jacobian()[0] - truth).abs().max()))
    assert 30 < gaps[0] / gaps[1] < 300


def test_the_papers_expansion_of_the_gradient_is_the_gradient_of_the_expansion() -> None:
    """T2 E[G_cj(f) y], E[y|f] = my + c/v_j (f_j - m_j), equals dT_c/dm_j my + dT_c/dv_j 2c for every c, j."""
    m, v, my, c = M[0], V[0], 0.7, -0.4
    by_m, by_v = (jacobian[0] for jacobian in taylor(M[:1], V[:1]).jacobian())
    for k in range(4):
        for j in range(4):

            def inner(f: Tensor, k: int = k, j: int = j) -> Tensor:
                return jacrev(softmax)(f)[k, j] * (my + c / v[j] * (f[j] - m[j]))

            expanded = inner(m) + 0.5 * v @ torch.diagonal(hessian(inner)(m))
            assert_rounded(expanded, by_m[k, j] * my + by_v[k, j] * 2 * c, roundings=8 * ROUNDINGS)


def test_the_printed_hessian_drops_a_factor_two() -> None:
    """(nablahcfun): with 2 S_c grad S_c Sigma in the last term it is autograd's Hessian of h_c, as printed not."""
    m, k, my = M[0], 1, 0.7
    sigma = torch.tensor([0.3, -0.2, 0.5, 0.1], dtype=torch.float64)
    S, gradient, second = softmax(m)[k], jacrev(softmax)(m)[k], hessian(softmax)(m)[k]

    def h(f: Tensor) -> Tensor:
        return (softmax(f)[k] - softmax(f)[k] ** 2) * (my + sigma @ (f - m))

    cross = torch.outer(sigma, gradient)
    shared = (second - 2 * torch.outer(gradient, gradient) - 2 * S * second) * my + cross + cross.T - 2 * S * cross
    assert_rounded(shared - 2 * S * cross.T, hessian(h)(m), roundings=ROUNDINGS)
    assert (shared - S * cross.T - hessian(h)(m)).abs().max() > 1e-3


def test_pull_back_is_the_contracted_jacobian() -> None:
    a = torch.randn(5, 2, 4, generator=GENERATOR, dtype=torch.float64)
    result = taylor(M, V)
    for jacobian, pulled in zip(result.jacobian(), result.pull_back(a), strict=True):
        assert_rounded(a @ jacobian, pulled, roundings=ROUNDINGS)
