"""Misprints in Theorem 1 and C.2 to C.4: the rows of one latent function, and the lemmas behind them."""

import math

import mpmath
import numpy as np
import paper_gplens as gplens
import paper_oracle as oracle
import pytest
import torch
from numpy.polynomial.hermite import hermgauss
from paper_example import X0, X, assert_true, compare, relative_error
from paper_symbols import moments
from scipy.special import expit
from scipy.stats import norm

from gplens.links import Exp, Probit, SigmoidTaylor, Square
from gplens.targets import Custom


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
    compare(
        oracle.attributions(lambda x: oracle.gradient(oracle.response(torch.exp), x)),
        right=oracle.attributions(exp_row),
        gplens=gplens.attributions(gplens.posterior(unit=unit), Exp(), x=unit * X, x0=unit * X0),
        printed=oracle.attributions(lambda x: printed_exp_row(x, unit)),
        damage=damage,
    )


def test_printed_exp_row_is_not_complete() -> None:
    """Theorem 2 with Theorem 1's exp row as printed: a gap that no number of path points closes."""
    T = oracle.response(torch.exp)
    difference = float(T(oracle.tensor(X)) - T(oracle.tensor(X0)))
    assert oracle.attributions(exp_row).sum() == pytest.approx(difference, rel=1e-9)
    assert gplens.attributions(gplens.posterior(), Exp()).sum() == pytest.approx(difference, rel=1e-9)
    assert oracle.attributions(printed_exp_row).sum() - difference == pytest.approx(0.231, abs=1e-3)


def test_probit_row_divides_by_the_variance_of_the_function() -> None:
    """The same in Theorem 1's probit row and C.2."""

    def row(x: np.ndarray, *, printed: bool) -> np.ndarray:
        m, v, m_k, c_k, w_k = moments(x)
        factor = c_k / w_k * v if printed else c_k
        return norm.pdf(m, scale=math.sqrt(1 + v)) * (m_k - factor * m / (1 + v))

    compare(
        oracle.attributions(lambda x: oracle.gradient(oracle.response(torch.special.ndtr), x)),
        right=oracle.attributions(lambda x: row(x, printed=False)),
        gplens=gplens.attributions(gplens.posterior(), Probit()),
        printed=oracle.attributions(lambda x: row(x, printed=True)),
        damage=0.0257,
    )


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
    compare(
        truth,
        right=s1 * m_k + v / 2 * s3 * m_k + c_k * s2,
        gplens=gplens.derivative(gplens.posterior(), SigmoidTaylor()),
        printed=s1 * m_k + s3 * m_k / 2 + c_k / w_k * s2,
        damage=0.1545,
    )
    assert relative_error(s1 * m_k + s3 * m_k / 2 + c_k / v * s2, truth) == pytest.approx(0.138, rel=0.02)


def test_sigmoid_row_is_exact_for_a_cubic_link() -> None:
    """With g cubic the second-order expansion is exact, so the corrected row must be the true gradient."""
    m, v, m_k, c_k, w_k = moments()
    g1, g2, g3 = 1 - m + 1.2 * m**2, -1 + 2.4 * m, 2.4

    def g(f: torch.Tensor) -> torch.Tensor:
        return f - f**2 / 2 + 0.4 * f**3

    compare(
        oracle.gradient(oracle.response(g)),
        right=g1 * m_k + v / 2 * g3 * m_k + c_k * g2,
        gplens=gplens.derivative(gplens.posterior(), target=Custom(g)),
        printed=g1 * m_k + g3 * m_k / 2 + c_k / w_k * g2,
        damage=0.500,
    )


def test_square_row_is_printed_right() -> None:
    """The contrast: no quotient is left in this row, and it holds as it stands."""
    m, _, m_k, c_k, _ = moments()
    truth = oracle.gradient(oracle.response(torch.square))
    assert_true(2 * m * m_k + 2 * c_k, truth)
    assert_true(gplens.derivative(gplens.posterior(), Square()), truth)


def test_second_order_term_is_the_mean_of_the_square() -> None:
    """Lemma 3 prints E[x - mu]' H E[x - mu], which is zero; it is E[(x - mu)' H (x - mu)]. h quadratic.

    For gplens (x - mu)' H (x - mu) is a sum of squares of independent standard normals, one for each eigenvalue.
    """
    H = np.array([[1.4, 0.3], [0.3, -0.5]])
    mu, Sigma = np.array([0.4, -0.7]), np.array([[0.9, 0.4], [0.4, 0.6]])
    root = np.linalg.cholesky(Sigma)
    z, w = hermgauss(20)
    nodes = math.sqrt(2) * np.stack(np.meshgrid(z, z, indexing="ij"), -1) @ root.T
    weights = np.outer(w, w) / math.pi

    def h(x: np.ndarray) -> np.ndarray:
        return 2 + x @ np.array([0.5, -1.0]) + 0.5 * ((x - mu) @ H * (x - mu)).sum(-1)

    squares = Square().moments(torch.zeros(2).double(), torch.ones(2).double()).value.numpy()
    bias = (weights[..., None] * nodes).sum((0, 1))
    compare(
        (weights * h(mu + nodes)).sum(),
        right=h(mu) + 0.5 * np.trace(H @ Sigma),
        gplens=h(mu) + 0.5 * np.linalg.eigvalsh(root.T @ H @ root) @ squares,
        printed=h(mu) + 0.5 * bias @ H @ bias,
        damage=0.1714,
    )


def test_taylor_sum_starts_at_order_zero() -> None:
    """The proof of Lemma 3 sums from k = 1, and so loses h(a)."""
    a, x = 0.3, 0.8
    terms = [math.exp(a) * (x - a) ** order / math.factorial(order) for order in range(20)]
    compare(
        np.exp(x),
        right=np.array(sum(terms)),
        gplens=Exp()(gplens.double(x)).numpy(),
        printed=np.array(sum(terms[1:])),
        damage=0.607,
    )


@pytest.mark.parametrize("power", [0, 1])
def test_exp_derivation_normalises_by_the_root(power: int) -> None:
    """C.3 prints 1/(2 pi sigma) before the Gaussian; it is 1/(sqrt(2 pi) sigma). E f^power e^f."""
    m, v, *_ = moments()
    z, w = hermgauss(60)
    f = m + math.sqrt(2 * v) * z
    with mpmath.workdps(30):
        bump = mpmath.quad(lambda f: f**power * mpmath.exp(-((f - m - v) ** 2) / (2 * v)), [-20, m + v, 20])
    integral = math.exp(m + v / 2) * float(bump) / math.sqrt(v)
    compare(
        (w * np.exp(f) * f**power).sum() / math.sqrt(math.pi),
        right=np.array(integral / math.sqrt(2 * math.pi)),
        gplens=gplens.value(gplens.posterior(), target=Custom(lambda f: f**power * torch.exp(f))),
        printed=np.array(integral / (2 * math.pi)),
        damage=0.601,
    )
