"""The paper's misprints, in numbers: the printed formula fails, the corrected one holds.

The subject (numpy) is a sparse variational GP, written with the closed derivatives of the SE kernel as in
the paper's list of symbols. The oracle (torch) is exact GP regression on the data behind q(f_U), with
autograd for the derivatives and Gauss-Hermite for the expectations. They share the numbers of the example,
and no code. The `damage` of a comparison is the number that docs/SHARP_EDGES.md quotes.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import mpmath
import numpy as np
import pytest
import torch
from numpy.polynomial.hermite import hermgauss
from scipy.special import expit, roots_hermite
from scipy.stats import norm
from torch import Tensor
from torch.func import grad, jacrev

# The example: five observations at Z, noise variances N, two features, one to three latent functions.
Z = np.array([[-1.2, 0.3], [-0.4, -0.9], [0.2, 0.8], [0.9, -0.2], [1.5, 1.1]])
Y = np.array([[1.9, -1.4, 2.2, 0.8, -1.1], [-0.7, 1.6, -1.2, 1.5, 0.4], [0.3, 0.9, -0.6, -1.8, 1.7]])
N = np.array([[0.3, 0.8, 1.5, 0.5, 1.0], [0.6, 0.4, 0.9, 1.2, 0.7], [1.1, 0.5, 0.4, 0.8, 1.4]])
THETA, LENGTH = 1.3, 1.1
X, X0 = np.array([0.5, -0.6]), np.array([-0.9, 0.9])
C = 3


def relative_error(value: np.ndarray, truth: np.ndarray) -> float:
    return float(np.max(np.abs(value - truth)) / np.max(np.abs(truth)))


def compare(truth: np.ndarray, *, right: np.ndarray, printed: np.ndarray, damage: float) -> None:
    """`right` equals the truth; `printed` misses it by `damage` (relative, in the largest entry)."""
    assert relative_error(right, truth) < 1e-9
    assert relative_error(printed, truth) > 1e-3
    assert relative_error(printed, truth) == pytest.approx(damage, rel=0.02)


# --- The oracle: torch, exact GP regression, autograd -------------------------------------------------------


def tensor(values: np.ndarray) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def prior(x: Tensor, z: Tensor) -> Tensor:
    return THETA * torch.exp(-0.5 * ((x[:, None] - z[None]) ** 2).sum(-1) / LENGTH**2)


def mean(x: Tensor, j: int = 0) -> Tensor:
    G = prior(tensor(Z), tensor(Z)) + torch.diag(tensor(N[j]))
    return prior(x[None], tensor(Z))[0] @ torch.linalg.solve(G, tensor(Y[j]))


def covariance(x: Tensor, y: Tensor, j: int = 0) -> Tensor:
    G = prior(tensor(Z), tensor(Z)) + torch.diag(tensor(N[j]))
    return prior(x[None], y[None])[0, 0] - prior(x[None], tensor(Z))[0] @ torch.linalg.solve(
        G, prior(tensor(Z), y[None])[:, 0]
    )


def variance(x: Tensor, j: int = 0) -> Tensor:
    return covariance(x, x, j)


def response(g: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """x -> E g(f(x)), 150 Gauss-Hermite nodes."""
    z, w = (tensor(values) for values in roots_hermite(150))
    return lambda x: (w * g(mean(x) + torch.sqrt(2 * variance(x)) * z)).sum() / math.sqrt(math.pi)


def class_probability(x: Tensor, c: int) -> Tensor:
    """E S_c(F(x)), 40 Gauss-Hermite nodes per latent function."""
    z, w = (tensor(values) for values in roots_hermite(40))
    f = torch.stack(
        torch.meshgrid(*(mean(x, j) + torch.sqrt(2 * variance(x, j)) * z for j in range(C)), indexing="ij"),
        -1,
    )
    weight = w[:, None, None] * w[:, None] * w / math.pi ** (C / 2)
    return (weight * torch.softmax(f, -1)[..., c]).sum()


def hessian(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return jacrev(grad(function))


def gradient(function: Callable[[Tensor], Tensor], x: np.ndarray = X) -> np.ndarray:
    return grad(function)(tensor(x)).numpy()


# --- The subject: numpy, the paper's list of symbols (Appendix A) -------------------------------------------


def k(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    return THETA * np.exp(-np.sum((x - z) ** 2, -1) / (2 * LENGTH**2))


def k_first(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """d k(x, z) / d x_k: features last."""
    return -(x - z) / LENGTH**2 * k(x, z)[..., None]


def k_second(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """d k(x, z) / d z_k: features last."""
    return (x - z) / LENGTH**2 * k(x, z)[..., None]


def k_both(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """d^2 k(x, z) / d x_k d z_k: features last."""
    return (1 / LENGTH**2 - (x - z) ** 2 / LENGTH**4) * k(x, z)[..., None]


def variational(j: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K, and the a, S of the optimal q(f_U) = N(a, S) at the inducing points Z."""
    K = k(Z[:, None], Z[None])
    S = np.linalg.inv(np.linalg.inv(K) + np.diag(1 / N[j]))
    return K, S @ (Y[j] / N[j]), S


class Moments(NamedTuple):
    """Of f(x) and d_k f(x): m, v, then per feature m_k, c_k = Cov(f, d_k f), w_k = Var(d_k f)."""

    m: float
    v: float
    m_k: np.ndarray
    c_k: np.ndarray
    w_k: np.ndarray


def moments(x: np.ndarray = X, j: int = 0) -> Moments:
    K, a, S = variational(j)
    A = np.linalg.inv(K) @ (K - S) @ np.linalg.inv(K)
    u, u_k = k(x, Z), k_first(x, Z)
    beta = np.linalg.solve(K, a)
    return Moments(u @ beta, k(x, x) - u @ A @ u, beta @ u_k, -(u @ A @ u_k), k_both(x, x) - ((A @ u_k) * u_k).sum(0))


# --- Section 2, Lemma 1, Appendices A and B -----------------------------------------------------------------


def test_lambda_inverts_the_prior_covariance() -> None:
    """Section 2 and Lemma 1 print Lambda = K_*U (K_UU - S)^-1; it is K_*U K_UU^-1, as in Appendix A."""
    K, _, S = variational()
    x = tensor(X)
    truth = np.array([variance(x), *grad(variance)(x) / 2])  # v and c_k

    def block(inverse: np.ndarray) -> np.ndarray:
        L, L_k = k(X, Z) @ inverse, k_first(X, Z).T @ inverse
        return np.array([k(X, X) - L @ (K - S) @ L, *(-(L_k @ (K - S) @ L))])

    printed = block(np.linalg.inv(K - S))
    compare(truth, right=block(np.linalg.inv(K)), printed=printed, damage=1.89)
    assert printed[0] < 0  # a negative variance


def test_derivative_kernel_ends_in_the_second_input() -> None:
    """`varpostderivgpparams` ends in k(X_U, x); it is k(X_U, x')."""
    K, _, S = variational()
    A = np.linalg.inv(K) @ (K - S) @ np.linalg.inv(K)

    def mixed(i: int) -> Tensor:
        return grad(lambda y: grad(covariance)(tensor(X), y)[i])(tensor(X0))[i]

    def kernel(last: np.ndarray) -> np.ndarray:
        return k_both(X, X0) - (k_first(X, Z) * (A @ k_second(Z, last))).sum(0)

    compare(np.array([mixed(0), mixed(1)]), right=kernel(X0), printed=kernel(X), damage=2.26)


def test_second_argument_is_the_one_differentiated() -> None:
    """Appendix A describes k^{d_k'}_{U*} by the kernel k^{d_k}, which differentiates X_U; it is x_*."""
    K, _, S = variational()
    A = np.linalg.inv(K) @ (K - S) @ np.linalg.inv(K)
    x = tensor(X)
    truth = np.array([grad(lambda y, i=i: grad(covariance)(x, y)[i])(x)[i] for i in range(2)])

    def derivative_variance(u_k: np.ndarray) -> np.ndarray:
        return k_both(X, X) - (k_first(X, Z) * (A @ u_k)).sum(0)

    right, printed = derivative_variance(k_second(Z, X)), derivative_variance(k_first(Z, X))
    compare(truth, right=right, printed=printed, damage=1.11)


def test_cross_covariance_is_not_the_mean_conditional_covariance() -> None:
    """`varpostderivgpcrosscov` names it E Cov(f, d_k f | f_U); that lacks Cov(E[f | f_U], E[d_k f | f_U])."""
    K, _, S = variational()
    P = np.linalg.inv(K)
    u, u_k = k(X, Z), k_second(Z, X0)
    conditional = k_second(X, X0) - u @ P @ u_k
    truth = gradient(lambda y: covariance(tensor(X), y), X0)
    compare(truth, right=conditional + u @ P @ S @ P @ u_k, printed=conditional, damage=1.43)


def test_prior_mean_of_the_inducing_values_is_zero() -> None:
    """Appendix B prints the joint prior mean (0, 0, f_U), so the conditional mean vanishes; it is 0."""
    K, a, _ = variational()
    truth = np.array([mean(tensor(X)), *gradient(mean)])

    def conditional(prior_mean: np.ndarray) -> np.ndarray:  # averaged over q(f_U): f_U -> a
        weights = np.linalg.solve(K, a - prior_mean)
        return np.array([k(X, Z) @ weights, *(weights @ k_first(X, Z))])

    compare(truth, right=conditional(np.zeros(5)), printed=conditional(a), damage=1.0)


# --- Theorem 1 and C.2 to C.4: one latent function ----------------------------------------------------------


def attributions(row: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """IG_k from X0 to X of the gradient `row`, 24 Gauss-Legendre nodes."""
    t, w = np.polynomial.legendre.leggauss(24)
    return (X - X0) * sum(wq / 2 * row(X0 + (1 + tq) / 2 * (X - X0)) for tq, wq in zip(t, w, strict=True))


def exp_row(x: np.ndarray) -> np.ndarray:
    m, v, m_k, c_k, _ = moments(x)
    return math.exp(m + v / 2) * (m_k + c_k)


def printed_exp_row(x: np.ndarray, unit: float = 1) -> np.ndarray:
    """Theorem 1's row; with `unit` the row of the same model with x in other units, in the old ones again."""
    m, v, m_k, c_k, w_k = moments(x)
    return math.exp(m + v / 2) * (m_k + unit * (c_k / unit) / (w_k / unit**2) * v)


@pytest.mark.parametrize(("unit", "damage"), [(1, 0.0725), (10, 8.24)])
def test_exp_row_divides_by_the_variance_of_the_function(unit: float, damage: float) -> None:
    """Theorem 1 and C.3 divide c_k by w_k = Var(d_k f); Lemma 2 divides by v, and the quotient cancels."""
    truth = attributions(lambda x: gradient(response(torch.exp), x))
    printed = attributions(lambda x: printed_exp_row(x, unit))
    compare(truth, right=attributions(exp_row), printed=printed, damage=damage)


def test_printed_exp_row_is_not_complete() -> None:
    """Theorem 2 with Theorem 1's exp row as printed: a gap that no number of path points closes."""
    T = response(torch.exp)
    difference = float(T(tensor(X)) - T(tensor(X0)))
    assert attributions(exp_row).sum() == pytest.approx(difference, rel=1e-9)
    assert attributions(printed_exp_row).sum() - difference == pytest.approx(0.231, abs=1e-3)


def test_probit_row_divides_by_the_variance_of_the_function() -> None:
    """The same in Theorem 1's probit row and C.2."""

    def row(x: np.ndarray, *, printed: bool) -> np.ndarray:
        m, v, m_k, c_k, w_k = moments(x)
        factor = c_k / w_k * v if printed else c_k
        return norm.pdf(m, scale=math.sqrt(1 + v)) * (m_k - factor * m / (1 + v))

    truth = attributions(lambda x: gradient(response(torch.special.ndtr), x))
    right, printed = (attributions(lambda x, p=p: row(x, printed=p)) for p in (False, True))
    compare(truth, right=right, printed=printed, damage=0.0257)


def sigmoid_derivatives(m: float) -> tuple[float, float, float]:
    s = expit(m)
    return s * (1 - s), s * (1 - s) * (1 - 2 * s), s * (1 - s) * (1 - 6 * s + 6 * s**2)


def test_sigmoid_row_keeps_the_variance() -> None:
    """Oracle: the second-order expansion that C.4 sets out to take, h(m) + v/2 h''(m), with mpmath's h''."""
    m, v, m_k, c_k, w_k = moments()
    s1, s2, s3 = sigmoid_derivatives(m)

    def expansion(i: int) -> float:
        def h(f: mpmath.mpf) -> mpmath.mpf:
            s = 1 / (1 + mpmath.exp(-f))
            return s * (1 - s) * (m_k[i] + c_k[i] / v * (f - m))

        with mpmath.workdps(40):
            return float(h(mpmath.mpf(m)) + v / 2 * mpmath.diff(h, m, 2))

    truth = np.array([expansion(0), expansion(1)])
    right = s1 * m_k + v / 2 * s3 * m_k + c_k * s2
    compare(truth, right=right, printed=s1 * m_k + s3 * m_k / 2 + c_k / w_k * s2, damage=0.1545)
    assert relative_error(s1 * m_k + s3 * m_k / 2 + c_k / v * s2, truth) == pytest.approx(0.138, rel=0.02)


def test_sigmoid_row_is_exact_for_a_cubic_link() -> None:
    """With g cubic the second-order expansion is exact, so the corrected row must be the true gradient."""
    m, v, m_k, c_k, w_k = moments()
    g1, g2, g3 = 1 - m + 1.2 * m**2, -1 + 2.4 * m, 2.4
    compare(
        gradient(response(lambda f: f - f**2 / 2 + 0.4 * f**3)),
        right=g1 * m_k + v / 2 * g3 * m_k + c_k * g2,
        printed=g1 * m_k + g3 * m_k / 2 + c_k / w_k * g2,
        damage=0.500,
    )


def test_square_row_is_printed_right() -> None:
    """The contrast: no quotient is left in this row, and it holds as it stands."""
    m, _, m_k, c_k, _ = moments()
    assert relative_error(2 * m * m_k + 2 * c_k, gradient(response(torch.square))) < 1e-9


def test_second_order_term_is_the_mean_of_the_square() -> None:
    """Lemma 3 prints E[x - mu]' H E[x - mu], which is zero; it is E[(x - mu)' H (x - mu)]. h quadratic."""
    H = np.array([[1.4, 0.3], [0.3, -0.5]])
    mu, Sigma = np.array([0.4, -0.7]), np.array([[0.9, 0.4], [0.4, 0.6]])
    z, w = hermgauss(20)
    nodes = math.sqrt(2) * np.stack(np.meshgrid(z, z, indexing="ij"), -1) @ np.linalg.cholesky(Sigma).T
    weights = np.outer(w, w) / math.pi

    def h(x: np.ndarray) -> np.ndarray:
        return 2 + x @ np.array([0.5, -1.0]) + 0.5 * ((x - mu) @ H * (x - mu)).sum(-1)

    truth = (weights * h(mu + nodes)).sum()
    bias = (weights[..., None] * nodes).sum((0, 1))
    compare(truth, right=h(mu) + 0.5 * np.trace(H @ Sigma), printed=h(mu) + 0.5 * bias @ H @ bias, damage=0.1714)


def test_taylor_sum_starts_at_order_zero() -> None:
    """The proof of Lemma 3 sums from k = 1, and so loses h(a)."""
    a, x = 0.3, 0.8
    terms = [math.exp(a) * (x - a) ** order / math.factorial(order) for order in range(20)]
    compare(np.exp(x), right=np.array(sum(terms)), printed=np.array(sum(terms[1:])), damage=0.607)


@pytest.mark.parametrize("power", [0, 1])
def test_exp_derivation_normalises_by_the_root(power: int) -> None:
    """C.3 prints 1/(2 pi sigma) before the Gaussian; it is 1/(sqrt(2 pi) sigma)."""
    m, v, *_ = moments()
    z, w = hermgauss(60)
    f = m + math.sqrt(2 * v) * z
    truth = (w * np.exp(f) * f**power).sum() / math.sqrt(math.pi)
    with mpmath.workdps(30):
        bump = mpmath.quad(lambda f: f**power * mpmath.exp(-((f - m - v) ** 2) / (2 * v)), [-20, m + v, 20])
    integral = math.exp(m + v / 2) * float(bump) / math.sqrt(v)
    right, printed = integral / math.sqrt(2 * math.pi), integral / (2 * math.pi)
    compare(truth, right=np.array(right), printed=np.array(printed), damage=0.601)


# --- Section 4 and C.5: softmax -----------------------------------------------------------------------------


class Softmax(NamedTuple):
    """S_c, its gradient and its Hessian (C.5, printed right), of class c at logits f."""

    value: float
    gradient: np.ndarray
    hessian: np.ndarray


def softmax(f: np.ndarray, c: int) -> Softmax:
    S = np.exp(f - f.max())
    S /= S.sum()
    unit = np.eye(len(f))[c]
    first = S[c] * (unit - S)
    return Softmax(S[c], first, np.outer(unit - S, first) - S[c] * (np.diag(S) - np.outer(S, S)))


@pytest.mark.parametrize("c", range(C))
def test_softmax_derivatives_are_printed_right(c: int) -> None:
    """The other contrast: the five cases that open C.5 hold as they stand, and `softmax` is the same."""
    f = np.array([0.7, -0.4, 0.2])
    S = np.exp(f) / np.exp(f).sum()

    def entry(i: int, j: int) -> float:
        if i == j:
            return S[c] * (1 - 3 * S[c] + 2 * S[c] ** 2) if i == c else S[c] * S[i] * (2 * S[i] - 1)
        if c in (i, j):
            return S[i] * S[j] * (2 * S[c] - 1)
        return 2 * S[c] * S[i] * S[j]

    printed = np.array([[entry(i, j) for j in range(C)] for i in range(C)])
    truth = hessian(lambda f: torch.softmax(f, -1)[c])(tensor(f)).numpy()
    assert relative_error(printed, truth) < 1e-9
    assert relative_error(softmax(f, c).hessian, truth) < 1e-9


class Latents(NamedTuple):
    """The moments of the C latent functions: m and v (C,), m_k and c_k (C, d)."""

    m: np.ndarray
    v: np.ndarray
    m_k: np.ndarray
    c_k: np.ndarray


def latents() -> Latents:
    each = [moments(X, j) for j in range(C)]
    return Latents(*(np.array([getattr(one, name) for one in each]) for name in Latents._fields))


def regression(q: Latents, j: int, i: int) -> np.ndarray:
    """The row Sigma of C.5 for y = d_i f_j: only entry j is not zero."""
    return np.eye(C)[j] * q.c_k[j, i] / q.v[j]


def expectation(integrand: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """E integrand(f) over the C independent latents, f of shape (nodes, C), values of shape (nodes, ...)."""
    q = latents()
    z, w = hermgauss(40)
    f = q.m + np.sqrt(2 * q.v) * np.stack(np.meshgrid(*[z] * C, indexing="ij"), -1).reshape(-1, C)
    weight = np.stack(np.meshgrid(*[w] * C, indexing="ij"), -1).reshape(-1, C).prod(-1) / math.pi ** (C / 2)
    return np.tensordot(weight, integrand(f), 1)


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

    truth = gradient(lambda x: class_probability(x, c))
    compare(truth, right=summed(lambda j: j), printed=summed(lambda _: 1), damage=1.0)


def test_link_sees_all_the_latents() -> None:
    """`meanofigmulti` and `multiggptarget` stop the arguments of G_c at f^(j); they run to f^(C)."""
    c, q = 0, latents()

    def summed(count: Callable[[int], int]) -> np.ndarray:
        def integrand(f: np.ndarray) -> np.ndarray:
            conditional = q.m_k + (q.c_k / q.v[:, None]) * (f - q.m)[..., None]
            return sum(slopes(f[:, : count(j)], c)[:, [j]] * conditional[:, j] for j in range(C))

        return expectation(integrand)

    truth = gradient(lambda x: class_probability(x, c))
    compare(truth, right=summed(lambda _: C), printed=summed(lambda j: j + 1), damage=0.514)


def own_term(q: Latents, c: int, i: int) -> Callable[[Tensor], Tensor]:
    """The oracle's H_c(f) = S_c (1 - S_c) E[d_i f_c | f]."""
    m, ratio = tensor(q.m), tensor(regression(q, c, i))

    def term(f: Tensor) -> Tensor:
        S = torch.softmax(f, -1)[c]
        return S * (1 - S) * (q.m_k[c, i] + ratio @ (f - m))

    return term


def cross_term(q: Latents, c: int, j: int, i: int) -> Callable[[Tensor], Tensor]:
    """The oracle's H_cj(f) = S_c S_j E[d_i f_j | f]."""
    m, ratio = tensor(q.m), tensor(regression(q, j, i))

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

    z, w = (tensor(values) for values in roots_hermite(40))
    f = torch.stack(torch.meshgrid(*(q.m[j] + math.sqrt(2 * q.v[j]) * z for j in range(C)), indexing="ij"), -1).reshape(
        -1, C
    )
    weight = (w[:, None, None] * w[:, None] * w).reshape(-1) / math.pi ** (C / 2)
    truth = (weight * torch.vmap(own_term(q, c, i))(f)).sum().numpy()
    compare(truth, right=expectation(expanded(row)), printed=expectation(expanded(np.eye(C)[c])), damage=0.895)


def test_gradient_of_the_own_term() -> None:
    """C.5 prints S (grad S)^2 mu_y and (Sigma x)^2 S grad S; the 2 is a factor in both, not an exponent."""
    c, i, q = 0, 1, latents()
    row, mu, f = regression(q, c, i), q.m_k[c, i], np.array([0.7, -0.4, 0.2])
    S, g, _ = softmax(f, c)
    common = g * mu + (row @ f) * g + row * S - row * S**2 - (row @ q.m) * g + (row @ q.m) * 2 * S * g
    compare(
        grad(own_term(q, c, i))(tensor(f)).numpy(),
        right=common - 2 * S * g * mu - 2 * (row @ f) * S * g,
        printed=common - S * g**2 * mu - (row @ f) ** 2 * S * g,
        damage=1.443,
    )


def own_hessian(q: Latents, c: int, i: int, last: float, source: int | None = None) -> np.ndarray:
    """`nablahcfun` with `last` as the factor of its last term and the moments of latent `source` (c)."""
    j = c if source is None else source
    row, mu = regression(q, j, i), q.m_k[j, i]
    S, g, H = softmax(q.m, c)
    own = H * mu - 2 * mu * np.outer(g, g) - 2 * mu * S * H
    return own + np.outer(row, g) + np.outer(g, row) - 2 * S * np.outer(row, g) - last * S * np.outer(g, row)


def test_last_term_of_the_own_hessian_has_a_factor_two() -> None:
    c, i, q = 0, 1, latents()
    truth = hessian(own_term(q, c, i))(tensor(q.m)).numpy()
    compare(truth, right=own_hessian(q, c, i, 2), printed=own_hessian(q, c, i, 1), damage=0.188)
    assert relative_error(own_hessian(q, c, i, 1), own_hessian(q, c, i, 1).T) > 1e-3  # not even symmetric


@pytest.mark.parametrize(("j", "damage"), [(1, 1.61), (2, 1.60)])
def test_own_term_uses_the_derivative_of_its_own_latent(j: int, damage: float) -> None:
    """`hcfun` and `nablahcfun` carry the moments of a latent (j) that is not bound; it is c."""
    c, i, q = 0, 1, latents()
    H = own_term(q, c, i)

    def second_order(source: int) -> np.ndarray:
        S, _, _ = softmax(q.m, c)
        return S * (1 - S) * q.m_k[source, i] + 0.5 * q.v @ np.diag(own_hessian(q, c, i, 2, source))

    m = tensor(q.m)
    truth = (H(m) + 0.5 * tensor(q.v) @ torch.diag(hessian(H)(m))).numpy()
    compare(truth, right=second_order(c), printed=second_order(j), damage=damage)


def cross_hessian(q: Latents, c: int, j: int, i: int, last: np.ndarray | None = None) -> np.ndarray:
    """`nablahcjfun`, with its last term in place of the outer product of Sigma and grad S_j if given."""
    row, mu = regression(q, j, i), q.m_k[j, i]
    (S, g, H), (Sj, gj, Hj) = softmax(q.m, c), softmax(q.m, j)
    own = mu * (np.outer(g, gj) + H * Sj + np.outer(gj, g) + S * Hj)
    own = own + Sj * np.outer(g, row) + S * np.outer(gj, row) + Sj * np.outer(row, g)
    return own + S * (np.outer(row, gj) if last is None else last)


def test_last_term_of_the_cross_hessian_is_an_outer_product() -> None:
    """`nablahcjfun` lacks the transpose of its last gradient; with vectors in code that is a dot product."""
    c, j, i, q = 0, 1, 1, latents()
    dot = regression(q, j, i) @ softmax(q.m, j).gradient
    truth = hessian(cross_term(q, c, j, i))(tensor(q.m)).numpy()
    printed = cross_hessian(q, c, j, i, np.full((C, C), dot))
    compare(truth, right=cross_hessian(q, c, j, i), printed=printed, damage=0.339)


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


def expanded_probability(x: Tensor, c: int) -> Tensor:
    """S_c(m) + 1/2 sum_j v_j d_j^2 S_c(m): its gradient in x is what the softmax row approximates by."""
    m = torch.stack([mean(x, j) for j in range(C)])
    v = torch.stack([variance(x, j) for j in range(C)])
    second = torch.diag(hessian(lambda f: torch.softmax(f, -1)[c])(m))
    return torch.softmax(m, -1)[c] + 0.5 * v @ second


@pytest.mark.parametrize(("c", "damage"), [(0, 0.0142), (1, 0.0589), (2, 0.0100)])
def test_softmax_row_with_the_lost_factor(c: int, damage: float) -> None:
    q = latents()
    truth = gradient(lambda x: expanded_probability(x, c))
    right, printed = softmax_row(q, c, last=2, bracket=True), softmax_row(q, c, last=1, bracket=True)
    compare(truth, right=right, printed=printed, damage=damage)


@pytest.mark.parametrize(("c", "damage"), [(0, 0.0754), (1, 0.459), (2, 0.265)])
def test_softmax_row_subtracts_the_second_order_terms(c: int, damage: float) -> None:
    """Theorem 1 and C.5 print - sum_j H_cj + 1/2 v' diag(...), with no bracket: all of it is subtracted."""
    q = latents()
    truth = gradient(lambda x: expanded_probability(x, c))
    right, printed = softmax_row(q, c, last=2, bracket=True), softmax_row(q, c, last=2, bracket=False)
    compare(truth, right=right, printed=printed, damage=damage)


# --- Theorem 2, Appendix D, Appendix E ----------------------------------------------------------------------


def test_path_starts_at_the_baseline_and_ends_at_the_input() -> None:
    """Appendix D prints x_B - alpha (x - x_B), which walks away from x; it is x_B + alpha (x - x_B)."""
    T = response(torch.exp)
    truth = (T(tensor(X)) - T(tensor(X0))).numpy()
    right, printed = attributions(exp_row).sum(), attributions(lambda x: exp_row(2 * X0 - x)).sum()
    compare(truth, right=right, printed=printed, damage=1.836)


def polynomial_moment(mu: float, sd: float, r: int, scale: float = 1) -> float:
    """E (1 + (scale |x|)^r)^2, x ~ N(mu, sd^2): the square that Lemma 4 bounds, with D = 1."""
    with mpmath.workdps(30):
        knots = sorted({mu - 12 * sd, 0, mu, mu + 12 * sd})
        return float(mpmath.quad(lambda x: mpmath.npdf(x, mu, sd) * (1 + (scale * abs(x)) ** r) ** 2, knots))


@pytest.mark.parametrize(
    ("mu", "sd", "M", "r", "damage"),
    [
        pytest.param(3.0, 0.1, 1, 1, 5.72, id="the mean is missing"),
        pytest.param(0.0, 10.0, 1, 1, 1.426, id="P for P^2"),
        pytest.param(0.0, 1.0, 10, 3, 195, id="M^2 for M^2r"),
    ],
)
def test_moment_bound_of_lemma_4(mu: float, sd: float, M: int, r: int, damage: float) -> None:
    """M copies of one x ~ N(mu, sd^2), so P = sd. damage: the truth over the printed bound.

    The corrected bound splits max|x| into mean and deviation: E max^2r <= 2^(2r-1) (mean^2r + r! (4 P^2)^r).
    """
    truth = polynomial_moment(mu, sd, r, M)
    printed = 2 + 2 * M**2 * math.factorial(r) * (4 * sd) ** r
    center = float(mpmath.quad(lambda x: abs(x) * mpmath.npdf(x, mu, sd), sorted({mu - 12 * sd, 0, mu, mu + 12 * sd})))
    moment = 2 ** (2 * r - 1) * (center ** (2 * r) + math.factorial(r) * (4 * sd**2) ** r)
    assert truth <= 2 + 2 * M ** (2 * r) * moment
    assert truth / printed > 1 + 1e-3
    assert truth / printed == pytest.approx(damage, rel=0.02)


def test_lipschitz_constant_is_the_largest_row() -> None:
    """Lemma 4's P takes the norms of the columns of L; the constant of max |L x| is a norm of a row."""
    L = np.array([[0.1, 0.0], [1.0, 1.0]])
    angles = np.linspace(0, np.pi, 7201)
    truth = np.abs(L @ np.array([np.cos(angles), np.sin(angles)])).max()  # sup of max|L x| over |x| = 1
    rows, columns = np.linalg.norm(L, axis=1).max(), np.linalg.norm(L, axis=0).max()
    compare(truth, right=rows, printed=columns, damage=0.289)


def test_completeness_needs_more_than_derivatives_almost_everywhere() -> None:
    """Theorem 2 admits the step g = 1[f > 0], whose slope is 0 almost everywhere; the jump is all."""
    truth = grad(lambda x: torch.special.ndtr(mean(x) / torch.sqrt(variance(x))))(tensor(X)).numpy()
    m, v, m_k, c_k, _ = moments()
    jump = norm.pdf(0, m, math.sqrt(v)) * (m_k - c_k * m / v)  # E[delta(f) d_k f]
    compare(truth, right=jump, printed=np.zeros(2), damage=1.0)


def test_attributions_do_not_order_single_replacements() -> None:
    """E.2 infers from IG_a > IG_b > 0 that replacing a costs more than replacing b, and that both cost.

    Phi of a latent with an interaction, v = 0: both attributions are positive, and both replacements gain.
    """

    def T(x: Tensor) -> Tensor:
        return torch.special.ndtr(x[0] * (1 - 1.6 * x[1]) + 0.6 * x[1] + 0.4 * x[1] ** 2)

    x = tensor(np.array([1.0, 0.8]))
    t, w = np.polynomial.legendre.leggauss(24)
    a, b = x * sum(wq / 2 * grad(T)(x * (1 + tq) / 2) for tq, wq in zip(t, w, strict=True))
    cost_a, cost_b = (float(T(x) - T(x * tensor(keep))) for keep in 1 - np.eye(2))
    assert float(a + b) == pytest.approx(float(T(x) - T(0 * x)), abs=1e-12)  # what does hold: completeness
    assert a > b > 0
    assert (float(a), float(b)) == pytest.approx((0.137, 0.039), abs=1e-3)
    assert (cost_a, cost_b) == pytest.approx((-0.093, -0.166), abs=1e-3)
