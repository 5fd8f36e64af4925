"""Misprints in Theorem 2 and Appendices D and E: the path, the bound of Lemma 4, what attributions do not say."""

import math

import mpmath
import numpy as np
import paper_gplens as gplens
import paper_oracle as oracle
import pytest
import torch
from paper_example import X0, X, compare
from paper_symbols import moments
from scipy.stats import norm
from torch import Tensor
from torch.func import grad

from gplens import Functions, Mix
from gplens.links import Exp, Probit, Quadrature, QuadratureError
from gplens.targets import Custom, EpistemicVariance


def test_path_starts_at_the_baseline_and_ends_at_the_input() -> None:
    """Appendix D prints x_B - alpha (x - x_B), which walks away from x; it is x_B + alpha (x - x_B)."""

    def exp_row(x: np.ndarray) -> np.ndarray:
        m, v, m_k, c_k, _ = moments(x)
        return math.exp(m + v / 2) * (m_k + c_k)

    T = oracle.response(torch.exp)
    compare(
        (T(oracle.tensor(X)) - T(oracle.tensor(X0))).numpy(),
        right=oracle.attributions(exp_row).sum(),
        gplens=gplens.attributions(gplens.posterior(), Exp()).sum(),
        printed=oracle.attributions(lambda x: exp_row(2 * X0 - x)).sum(),
        damage=1.836,
    )


def normal_expectation(g: object, mu: float, sd: float) -> float:
    """E g(x), x ~ N(mu, sd^2), by mpmath."""
    with mpmath.workdps(30):
        knots = sorted({mu - 12 * sd, 0, mu, mu + 12 * sd})
        return float(mpmath.quad(lambda x: mpmath.npdf(x, mu, sd) * g(x), knots))


@pytest.mark.parametrize(
    ("mu", "sd", "M", "r", "damage"),
    [
        pytest.param(3.0, 0.1, 1, 1, 5.72, id="the mean is missing"),
        pytest.param(0.0, 10.0, 1, 1, 1.426, id="P for P^2"),
        pytest.param(0.0, 1.0, 10, 3, 195, id="M^2 for M^2r"),
    ],
)
def test_moment_bound_of_lemma_4(mu: float, sd: float, M: int, r: int, damage: float) -> None:
    """M copies of one x ~ N(mu, sd^2), so P = sd, D = 1. damage: the truth over the printed bound.

    The corrected bound splits max|x| into mean and deviation: E max^2r <= 2^(2r-1) (mean^2r + r! (4 P^2)^r).
    gplens integrates smooth functions alone; the square (1 + (M x)^r)^2 without the modulus breaks the bound as well.
    """
    truth = normal_expectation(lambda x: (1 + (M * abs(x)) ** r) ** 2, mu, sd)
    printed = 2 + 2 * M**2 * math.factorial(r) * (4 * sd) ** r
    moment = 2 ** (2 * r - 1) * (normal_expectation(abs, mu, sd) ** (2 * r) + math.factorial(r) * (4 * sd**2) ** r)
    right = 2 + 2 * M ** (2 * r) * moment
    assert truth <= right
    assert truth / printed > 1 + 1e-3
    assert truth / printed == pytest.approx(damage, rel=0.02)
    latent = Functions(lambda x: mu + 0 * x[:, 0], lambda x: sd**2 + 0 * x[:, 0], features=1)
    smooth = float(gplens.value(latent, target=Custom(lambda f: (1 + (M * f) ** r) ** 2), x=np.zeros(1)))
    assert smooth == pytest.approx(normal_expectation(lambda x: (1 + (M * x) ** r) ** 2, mu, sd), rel=1e-9)
    assert printed < smooth <= right


def test_lipschitz_constant_is_the_largest_row() -> None:
    """Lemma 4's P takes the norms of the columns of L; the constant of max |L x| is a norm of a row.

    In gplens a row of L mixes independent latent functions of variance one, and its norm is the deviation of the mix.
    """
    L = np.array([[0.1, 0.0], [1.0, 1.0]])
    angles = np.linspace(0, np.pi, 7201)
    unit = Functions(lambda x: 0 * x, lambda x: 1 + 0 * x, features=2, outputs=2)
    deviations = np.sqrt(gplens.value(Mix(unit, gplens.double(L)), target=EpistemicVariance()))
    compare(
        np.abs(L @ np.array([np.cos(angles), np.sin(angles)])).max(),  # sup of max|L x| over |x| = 1
        right=np.linalg.norm(L, axis=1).max(),
        gplens=deviations.max(),
        printed=np.linalg.norm(L, axis=0).max(),
        damage=0.289,
    )


def test_completeness_needs_more_than_derivatives_almost_everywhere() -> None:
    """Theorem 2 admits the step g = 1[f > 0], whose slope is 0 almost everywhere; the jump is all.

    gplens refuses the step as a function, and takes P(f + noise > 0) with as little noise as one likes.
    """
    m, v, m_k, c_k, _ = moments()
    compare(
        grad(lambda x: torch.special.ndtr(oracle.mean(x) / torch.sqrt(oracle.variance(x))))(oracle.tensor(X)).numpy(),
        right=norm.pdf(0, m, math.sqrt(v)) * (m_k - c_k * m / v),  # E[delta(f) d_k f]
        gplens=gplens.derivative(gplens.posterior(), Probit(noise=1e-12)),
        printed=np.zeros(2),
        damage=1.0,
    )
    with pytest.raises(QuadratureError):
        Quadrature(lambda f: (f > 0).to(f.dtype)).moments(gplens.double([m]), gplens.double([v]))


def test_attributions_do_not_order_single_replacements() -> None:
    """E.2 infers from IG_a > IG_b > 0 that replacing a costs more than replacing b, and that both cost.

    Phi of a latent with an interaction, v = 0: both attributions are positive, and both replacements gain.
    """

    def latent(x: Tensor) -> Tensor:
        a, b = x[..., 0], x[..., 1]
        return a * (1 - 1.6 * b) + 0.6 * b + 0.4 * b**2

    def T(x: Tensor) -> Tensor:
        return torch.special.ndtr(latent(x))

    x = oracle.tensor(np.array([1.0, 0.8]))
    t, w = np.polynomial.legendre.leggauss(24)
    truth = (x * sum(wq / 2 * grad(T)(x * (1 + tq) / 2) for tq, wq in zip(t, w, strict=True))).numpy()
    a, b = gplens.attributions(gplens.certain(latent, 2), Probit(), x=x.numpy(), x0=np.zeros(2))
    assert (a, b) == pytest.approx(tuple(truth), rel=1e-9)
    cost_a, cost_b = (float(T(x) - T(x * oracle.tensor(keep))) for keep in 1 - np.eye(2))
    assert float(a + b) == pytest.approx(float(T(x) - T(0 * x)), abs=1e-12)  # what does hold: completeness
    assert a > b > 0
    assert (float(a), float(b)) == pytest.approx((0.137, 0.039), abs=1e-3)
    assert (cost_a, cost_b) == pytest.approx((-0.093, -0.166), abs=1e-3)
