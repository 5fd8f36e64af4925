"""E a(f) b(f') over a bivariate Gaussian, by nested composite Gauss-Legendre in numpy; functions written by hand.

f = m + sd z, f' = m' + r sd' z + sqrt(1 - r^2) sd' z', |z|, |z'| < 11. Panels are no longer than `width` in f or f',
nor than 2 in z: over 4, 16 nodes integrate functions with poles at +-i pi to 1e-17; tanh wants half of it.
"""

from collections.abc import Callable
from math import ceil, pi

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
Case = tuple[float, float, float, float, float]
"""m, m', v, v', r."""

X, W = np.polynomial.legendre.leggauss(16)
ORDERS = ((1, 1), (1, 2), (1, 3), (2, 2))


def pair_moments(
    g: tuple[Function, Function, Function], case: Case, *, width: float, reach: float = 11.0
) -> list[float]:
    """E11, E12, E13, E22 for g', g'', g'''."""
    m, m_, v, v_, r = case
    sd, sd_, rest = v**0.5, v_**0.5, (1 - r * r) ** 0.5 * v_**0.5
    z, w = rule(max(sd, abs(r) * sd_) / width, reach)
    y, u = rule(rest / width, reach) if rest > 0 else (np.zeros(1), np.ones(1))
    there = (m_ + r * sd_ * z)[:, None] + rest * y
    inner = {j: g[j - 1](there) @ u for j in (1, 2, 3)}
    outer = {i: g[i - 1](m + sd * z) * w for i in (1, 2)}
    return [float(outer[i] @ inner[j]) for i, j in ORDERS]


def rule(rate: float, reach: float) -> tuple[Array, Array]:
    """Nodes in z and weights, N(z; 0, 1) included: panels of 2, or of 1/rate if that is less."""
    panels = ceil(2 * reach / min(2.0, 1 / max(rate, 1e-9)))
    edges = np.linspace(-reach, reach, panels + 1)
    half = reach / panels
    z = (edges[:-1, None] + half + half * X).ravel()
    return z, np.tile(half * W, panels) * np.exp(-z * z / 2) / (2 * pi) ** 0.5


def one(f: Array) -> Array:
    return np.ones_like(f)


def zero(f: Array) -> Array:
    return np.zeros_like(f)


def sigmoid(f: Array) -> Array:
    return 0.5 * (1 + np.tanh(f / 2))


def sigmoid1(f: Array) -> Array:
    e = np.exp(-np.abs(f))
    return e / (1 + e) ** 2


def sigmoid2(f: Array) -> Array:
    return -np.tanh(f / 2) * sigmoid1(f)


def sigmoid3(f: Array) -> Array:
    return sigmoid1(f) * (1 - 6 * sigmoid1(f))


def density(f: Array) -> Array:
    return np.exp(-f * f / 2) / (2 * pi) ** 0.5


def tanh1(f: Array) -> Array:
    return 4 * sigmoid1(2 * f)


def tanh2(f: Array) -> Array:
    return 8 * sigmoid2(2 * f)


def tanh3(f: Array) -> Array:
    return 16 * sigmoid3(2 * f)


def normal(shift: float, sd: float) -> tuple[Function, Function, Function]:
    """The first three derivatives of Phi((f - shift)/sd)."""

    def first(f: Array) -> Array:
        return density((f - shift) / sd) / sd

    def second(f: Array) -> Array:
        return -(f - shift) / sd**2 * first(f)

    def third(f: Array) -> Array:
        return (((f - shift) / sd) ** 2 - 1) / sd**2 * first(f)

    return first, second, third


def mixture(i: int) -> Function:
    """The i-th derivative of 1.5 Phi(f/sqrt(1/2)) - Phi(f/2)/2."""
    return lambda f: 1.5 * normal(0.0, 0.5**0.5)[i - 1](f) - 0.5 * normal(0.0, 2.0)[i - 1](f)


IDENTITY = (one, zero, zero)
SQUARE = (lambda f: 2 * f, lambda f: np.full_like(f, 2), zero)
EXP = (np.exp, np.exp, np.exp)
PROBIT = normal(0.0, 1.0)
EXCEEDS = normal(1.5, 0.5)
MIXTURE = (mixture(1), mixture(2), mixture(3))
SIGMOID = (sigmoid1, sigmoid2, sigmoid3)
SOFTPLUS = (sigmoid, sigmoid1, sigmoid2)
TANH = (tanh1, tanh2, tanh3)
SIN = (np.cos, lambda f: -np.sin(f), lambda f: -np.cos(f))
