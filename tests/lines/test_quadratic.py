"""The matrix A in factored form: the algebra of the dense one, with the digits of the factor."""

from dataclasses import replace

import mpmath as mp
import pytest
import torch
from hypothesis import given

from conformance.zoo import generator, normal, seeds
from gplens import Posterior, Quadratic
from gplens.kernels import RBF
from messages import naming


def symmetric(seed: int, latents: int, n: int = 5) -> torch.Tensor:
    B = normal(generator(seed), latents, n, n)
    return B + B.mT  # indefinite, as K^-1 (K - S) K^-1 may be


@pytest.mark.parametrize("latents", [1, 3])
@given(seed=seeds)
def test_the_factored_form_has_the_algebra_of_the_dense_matrix(latents: int, seed: int) -> None:
    """k'Ak and A k, through F where A is large and through A itself where it is not."""
    A, k = symmetric(seed, latents), normal(generator(seed + 1), 2, 4, 5)
    for prior in (1e-9, 1e9):
        quadratic = replace(Quadratic.dense(A), prior=prior)
        assert quadratic.keeps_digits == (prior < 1)
        product = quadratic.product(k)
        torch.testing.assert_close(product.form, torch.einsum("bqi,cij,bqj->bcq", k, A, k), rtol=1e-11, atol=1e-11)
        torch.testing.assert_close(product.A_k, torch.einsum("cij,bqj->bcqi", A, k), rtol=1e-11, atol=1e-11)


def test_long_rows_of_a_factor_with_small_signs_do_not_make_a_large_matrix() -> None:
    """A = F' diag(s) F has entries of one, though F has some of 1e4: one product replaces two."""
    F, s = normal(generator(0), 1, 5, 5), torch.rand(2, 5, generator=generator(1)).double()
    F, s = F * torch.tensor([1.0, 1.0, 1e2, 1e3, 1e4])[:, None], s * torch.tensor([1.0, 1.0, 1e-4, 1e-6, 1e-8])
    assert Quadratic(F, s).keeps_digits
    assert not Quadratic(F, s[:, [4, 3, 2, 1, 0]]).keeps_digits
    assert not Quadratic(F, -s, prior=1e3).keeps_digits


def test_a_factor_shared_by_latents_has_signs_of_their_own() -> None:
    """A_c = F' diag(s_c) F."""
    g = generator(0)
    F, s, k = normal(g, 1, 3, 5), normal(g, 2, 3), normal(g, 2, 4, 5)
    A = torch.einsum("ri,cr,rj->cij", F[0], s, F[0])
    for prior in (1e-9, 1e9):
        product = Quadratic(F, s, prior).product(k)
        torch.testing.assert_close(product.form, torch.einsum("bqi,cij,bqj->bcq", k, A, k))
        torch.testing.assert_close(product.A_k, torch.einsum("cij,bqj->bcqi", A, k))


def test_an_asymmetric_matrix_is_refused() -> None:
    A = symmetric(0, 1)
    A[0, 0, 1] += 1e-3
    with pytest.raises(ValueError, match=naming("A", "symmetric", 0.001)):
        Quadratic.dense(A)


def test_rounding_of_a_solve_counts_as_symmetric() -> None:
    A = symmetric(0, 1)
    A[0, 0, 1] += 1e-10
    assert Quadratic.dense(A).F.shape == (1, 5, 5)


def test_the_cholesky_factor_keeps_digits_that_the_dense_matrix_loses() -> None:
    """v = 1 - k'K^-1 k for cond K = 1e10, against 60 digits: the inverse is off by 100 times what the factor is."""
    n, scale = 14, torch.tensor([1.0]).double()
    Z = torch.linspace(0, 4.2, n, dtype=torch.float64)[:, None]
    X = torch.linspace(0.1, 4.1, 23, dtype=torch.float64)[:, None]
    kernel, noise = RBF(scale), 1e-9
    K = kernel(Z, Z) + noise * torch.eye(n, dtype=torch.float64)
    assert 1e9 < torch.linalg.cond(K) < 1e11
    exact = _variance(Z[:, 0].tolist(), X[:, 0].tolist(), noise)
    F = torch.linalg.solve_triangular(torch.linalg.cholesky(K), torch.eye(n, dtype=torch.float64), upper=False)
    inverse = torch.linalg.inv(K)
    beta = torch.zeros(n, dtype=torch.float64)
    by_factor = Posterior(kernel, Z, beta, Quadratic(F[None], torch.ones(1, n, dtype=torch.float64))).v(X)[:, 0]
    by_matrix = Posterior(kernel, Z, beta, (inverse + inverse.T) / 2).v(X)[:, 0]
    lost, lost_by_matrix = ((v - exact).abs().max() for v in (by_factor, by_matrix))
    assert lost < 1e-11
    assert lost_by_matrix > 100 * lost


def _variance(Z: list[float], X: list[float], noise: float) -> torch.Tensor:
    """1 - k'(K + noise)^-1 k in 60 digits, with the entries of K rounded as float64 rounds them."""
    with mp.workdps(60):
        k = [[mp.mpf(_rbf(x, z)) for z in Z] for x in X]
        K = mp.matrix([[mp.mpf(_rbf(x, z) + (noise if x == z else 0.0)) for z in Z] for x in Z])
        inverse = K**-1
        v = [1 - mp.fdot(row, inverse * mp.matrix(row)) for row in k]
        return torch.tensor([float(value) for value in v], dtype=torch.float64)


def _rbf(x: float, z: float) -> float:
    pair = torch.tensor([[x]]).double(), torch.tensor([[z]]).double()
    return float(torch.exp(-((pair[0] - pair[1]) ** 2) / 2))
