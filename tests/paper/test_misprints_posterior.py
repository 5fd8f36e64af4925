"""Misprints in Section 2, Lemma 1, Appendices A and B: the posterior of f and of its derivatives."""

import numpy as np
import paper_gplens as gplens
import paper_oracle as oracle
from paper_example import X0, X, Z, assert_true, assert_wrong, compare, relative_error
from paper_symbols import k, k_both, k_first, k_second, variational
from torch.func import grad

from gplens.targets import EpistemicVariance, Latent


def test_lambda_inverts_the_prior_covariance() -> None:
    """Section 2 and Lemma 1 print Lambda = K_*U (K_UU - S)^-1; it is K_*U K_UU^-1, as in Appendix A.

    gplens reads the sparse model from GPyTorch; v is what it explains as EpistemicVariance.
    """
    K, _, S = variational()
    x = oracle.tensor(X)
    truth = np.array([oracle.variance(x), *grad(oracle.variance)(x) / 2])  # v and c_k

    def block(inverse: np.ndarray) -> np.ndarray:
        L, L_k = k(X, Z) @ inverse, k_first(X, Z).T @ inverse
        return np.array([k(X, X) - L @ (K - S) @ L, *(-(L_k @ (K - S) @ L))])

    v, v_k = (ask(gplens.sparse(), target=EpistemicVariance()) for ask in (gplens.value, gplens.derivative))
    printed = block(np.linalg.inv(K - S))
    compare(truth, right=block(np.linalg.inv(K)), gplens=np.array([v, *v_k / 2]), printed=printed, damage=1.89)
    assert printed[0] < 0  # a negative variance


def test_derivative_kernel_ends_in_the_second_input() -> None:
    """`varpostderivgpparams` ends in k(X_U, x); it is k(X_U, x'). gplens needs it for the error bars of a path."""
    K, _, S = variational()
    A = np.linalg.inv(K) @ (K - S) @ np.linalg.inv(K)

    def right(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return k_both(x, y) - (k_first(x, Z) * (A @ k_second(Z, y))).sum(0)

    def printed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return k_both(x, y) - (k_first(x, Z) * (A @ k_second(Z, x))).sum(0)

    truth = oracle.derivative_covariance(X, X0)
    assert_true(right(X, X0), truth)
    assert_wrong(printed(X, X0), truth, 2.26)
    variances = oracle.attribution_variances(oracle.derivative_covariance)
    assert_true(gplens.attribution_variances(), variances)
    assert relative_error(oracle.attribution_variances(printed), variances) > 1e-3


def test_second_argument_is_the_one_differentiated() -> None:
    """Appendix A describes k^{d_k'}_{U*} by the kernel k^{d_k}, which differentiates X_U; it is x_*."""
    K, _, S = variational()
    A = np.linalg.inv(K) @ (K - S) @ np.linalg.inv(K)

    def right(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return k_both(x, y) - (k_first(x, Z) * (A @ k_second(Z, y))).sum(0)

    def printed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return k_both(x, y) - (k_first(x, Z) * (A @ k_first(Z, y))).sum(0)

    truth = oracle.derivative_covariance(X, X)
    assert_true(right(X, X), truth)
    assert_wrong(printed(X, X), truth, 1.11)
    variances = oracle.attribution_variances(oracle.derivative_covariance)
    assert_true(gplens.attribution_variances(), variances)
    assert relative_error(oracle.attribution_variances(printed), variances) > 1e-3


def test_cross_covariance_is_not_the_mean_conditional_covariance() -> None:
    """`varpostderivgpcrosscov` names it E Cov(f, d_k f | f_U); that lacks Cov(E[f | f_U], E[d_k f | f_U])."""
    K, _, S = variational()
    P = np.linalg.inv(K)
    u, u_k = k(X, Z), k_second(Z, X0)
    conditional = k_second(X, X0) - u @ P @ u_k
    model = gplens.posterior()

    def covariance(y: np.ndarray) -> np.ndarray:
        return model.c(gplens.double(X)[None], gplens.double(y)[None]).reshape(()).numpy()

    compare(
        oracle.gradient(lambda y: oracle.covariance(oracle.tensor(X), y), X0),
        right=conditional + u @ P @ S @ P @ u_k,
        gplens=gplens.central(covariance, X0),
        printed=conditional,
        damage=1.43,
    )


def test_prior_mean_of_the_inducing_values_is_zero() -> None:
    """Appendix B prints the joint prior mean (0, 0, f_U), so the conditional mean vanishes; it is 0."""
    K, a, _ = variational()

    def conditional(prior_mean: np.ndarray) -> np.ndarray:  # averaged over q(f_U): f_U -> a
        weights = np.linalg.solve(K, a - prior_mean)
        return np.array([k(X, Z) @ weights, *(weights @ k_first(X, Z))])

    m, m_k = (ask(gplens.sparse(), target=Latent()) for ask in (gplens.value, gplens.derivative))
    compare(
        np.array([oracle.mean(oracle.tensor(X)), *oracle.gradient(oracle.mean)]),
        right=conditional(np.zeros(5)),
        gplens=np.array([m, *m_k]),
        printed=conditional(a),
        damage=1.0,
    )
