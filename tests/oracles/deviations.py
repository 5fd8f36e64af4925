"""Standard deviations of attributions by nested Gauss rules, split where the two points meet, without gplens.

Var IG_k = 2 d_k^2 int_0^1 ds int_0^s dt d_k d_k' Cov(g(f(x_s)), g(f(x_t))), with kernels, their derivatives and the
moments of links written down one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

Array = NDArray[np.float64]
Jet = Callable[[Array, Array], tuple[Array, Array, Array]]
"""(x, y) with features in the last axis -> k, d_k k in x, and d_k d_k' k in x and y."""


def rbf(scale: Array) -> Jet:
    def jet(x: Array, y: Array) -> tuple[Array, Array, Array]:
        e = (x - y) / scale
        k = np.exp(-(e**2).sum(-1, keepdims=True) / 2)
        return k[..., 0], -e / scale * k, (1 - e**2) / scale**2 * k

    return jet


def matern32(scale: Array) -> Jet:
    def jet(x: Array, y: Array) -> tuple[Array, Array, Array]:
        e = (x - y) / scale
        r = np.sqrt((e**2).sum(-1, keepdims=True))
        decay = np.exp(-sqrt(3) * r)
        bend = np.divide(e**2, r, out=np.zeros_like(e), where=r > 0)
        return ((1 + sqrt(3) * r) * decay)[..., 0], -3 * e / scale * decay, 3 / scale**2 * (1 - sqrt(3) * bend) * decay

    return jet


def matern52(scale: Array) -> Jet:
    def jet(x: Array, y: Array) -> tuple[Array, Array, Array]:
        e = (x - y) / scale
        s = np.sqrt(5 * (e**2).sum(-1, keepdims=True))
        decay = np.exp(-s)
        mixed = 5 / 3 / scale**2 * (1 + s - 5 * e**2) * decay
        return ((1 + s + s**2 / 3) * decay)[..., 0], -5 / 3 * e / scale * (1 + s) * decay, mixed

    return jet


def rational_quadratic(scale: Array, alpha: float) -> Jet:
    def jet(x: Array, y: Array) -> tuple[Array, Array, Array]:
        e = (x - y) / scale
        base = 1 + (e**2).sum(-1, keepdims=True) / (2 * alpha)
        slope = base ** (-alpha - 1)
        mixed = slope / scale**2 - (alpha + 1) / alpha * (e / scale) ** 2 * base ** (-alpha - 2)
        return (base**-alpha)[..., 0], -e / scale * slope, mixed

    return jet


def weighted_sum(*terms: tuple[float, Jet]) -> Jet:
    def jet(x: Array, y: Array) -> tuple[Array, Array, Array]:
        parts = [[weight * part for part in inner(x, y)] for weight, inner in terms]
        k, slope, mixed = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
        return k, slope, mixed

    return jet


def of_feature(index: int, inner: Jet) -> Jet:
    """A kernel of one feature."""

    def jet(x: Array, y: Array) -> tuple[Array, Array, Array]:
        k, slope, mixed = inner(x[..., [index]], y[..., [index]])
        wide = np.zeros(np.broadcast_shapes(x.shape, y.shape))
        by_x, by_both = wide.copy(), wide.copy()
        by_x[..., [index]], by_both[..., [index]] = slope, mixed
        return k, by_x, by_both

    return jet


def identity(m: Array, n: Array, v: Array, w: Array, c: Array) -> tuple[Array, ...]:
    """E11, E12, E21, E13, E31, E22, then E g' and E g'' at the first point and at the second."""
    one, zero = np.ones_like(c), np.zeros_like(c)
    return one, zero, zero, zero, zero, zero, one, zero, one, zero


def exp(m: Array, n: Array, v: Array, w: Array, c: Array) -> tuple[Array, ...]:
    first, second = np.exp(m + v / 2), np.exp(n + w / 2)
    both = first * second * np.exp(c)
    return (both,) * 6 + (first, first, second, second)


def probit(m: Array, n: Array, v: Array, w: Array, c: Array) -> tuple[Array, ...]:
    a, b = 1 + v, 1 + w
    det = a * b - c**2
    one, two = (b * m - c * n) / det, (a * n - c * m) / det
    E11 = np.exp(-(m * one + n * two) / 2) / (2 * pi * np.sqrt(det))
    first, second = np.exp(-(m**2) / 2 / a) / np.sqrt(2 * pi * a), np.exp(-(n**2) / 2 / b) / np.sqrt(2 * pi * b)
    E13, E31 = (two**2 - a / det) * E11, (one**2 - b / det) * E11
    singles = (first, -m / a * first, second, -n / b * second)
    return E11, -two * E11, -one * E11, E13, E31, (one * two + c / det) * E11, *singles


@dataclass
class Model:
    """f given y at Z: m = k beta, c = k - k A k."""

    k: Jet
    Z: Array
    beta: Array
    A: Array

    def along(self, X: Array) -> tuple[Array, Array]:
        """k(x, Z) and its gradient."""
        k, slope, _ = self.k(X[..., None, :], self.Z)
        return k, slope

    def variances(self, link: Callable[..., tuple[Array, ...]], x: Array, x0: Array, edges: Array, order: int) -> Array:
        """Var IG_k, with so many nodes on the panels between the edges for s, and on those below each s for t."""
        d, (u, weights) = x - x0, roots_legendre(order)
        u, weights, total = (u + 1) / 2, weights / 2, np.zeros_like(x)
        for panel, width in enumerate(np.diff(edges)):
            for node, weight in zip(u, weights, strict=True):
                s = edges[panel] + width * node
                below = np.append(edges[: panel + 1], s)
                t = (below[:-1, None] + np.diff(below)[:, None] * u).ravel()
                w = (np.diff(below)[:, None] * weights).ravel()
                total += 2 * weight * width * w @ self._integrand(link, x0 + s * d, x0 + t[:, None] * d)
        return d**2 * total

    def _integrand(self, link: Callable[..., tuple[Array, ...]], x: Array, Y: Array) -> Array:
        """d_k d_k' Cov(g(f(x)), g(f(y))) for one x and all y."""
        (kx, gx), (ky, gy) = self.along(x), self.along(Y)
        prior, by_x, mixed = self.k(x[None], Y)
        A_kx, A_ky = self.A @ kx, ky @ self.A
        diagonal = self.k(Y[:1], Y[:1])[0][0]
        v, w, c = diagonal - kx @ A_kx, diagonal - (ky * A_ky).sum(1), prior - ky @ A_kx
        m_k, n_k = self.beta @ gx, np.einsum("n,ynk->yk", self.beta, gy)
        v_k, w_k = -2 * A_kx @ gx, -2 * np.einsum("yn,ynk->yk", A_ky, gy)
        c_k, c_l = by_x - A_ky @ gx, -by_x - np.einsum("n,ynk->yk", A_kx, gy)
        c_kk = mixed - np.einsum("nk,nm,ymk->yk", gx, self.A, gy)
        m, n = np.full(len(Y), kx @ self.beta), ky @ self.beta
        E11, E12, E21, E13, E31, E22, a, aa, b, bb = (part[:, None] for part in link(m, n, np.full(len(Y), v), w, c))
        second = E11 * (m_k * n_k + c_kk) + E12 * (m_k * w_k / 2 + c_k * n_k) + E21 * (v_k * n_k / 2 + m_k * c_l)
        second = second + E22 * (v_k * w_k / 4 + c_k * c_l) + E31 * v_k * c_l / 2 + E13 * c_k * w_k / 2
        return second - (a * m_k + aa * v_k / 2) * (b * n_k + bb * w_k / 2)
