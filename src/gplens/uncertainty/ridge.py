"""Weights for pairs of nodes of an integrand that has a ridge where the two nodes meet (MATH 5.14b)."""

from functools import cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from gplens.paths.panels import gauss_legendre

Matrix = NDArray[np.float64]

DEGREES = {6: (6, 3), 8: (7, 5), 10: (9, 6), 12: (11, 8), 14: (13, 10), 16: (15, 12)}
"""The number of nodes of a piece, and the degrees up to which polynomials in (s + t, s - t) are integrated exactly:
with even powers of s - t, and with odd powers of |s - t|. Higher degrees lead to large weights of both signs."""


@cache
def ridge_weights(count: int) -> Matrix:
    """Weights W_qp of the pairs of `count` Gauss nodes on [0, 1], symmetric, for integrals over the unit square.

    They are the weights of the product rule, changed as little as possible so that odd powers of |s - t| are integrated
    exactly too, up to the degrees above. By symmetry, the triangle t <= s suffices, where |s - t| = s - t.
    """
    t, w = gauss_legendre(count)
    even, odd = DEGREES[count]
    powers = [
        (i, j) for top, first in ((even, 0), (odd, 1)) for j in range(first, top + 1, 2) for i in range(top + 1 - j)
    ]
    exact_basis, integrals = _orthonormal(powers, even + 6)
    q, p = np.tril_indices(count)
    basis = np.linalg.solve(exact_basis.T, _values(powers, t[q], t[p]).T)
    product = np.where(q == p, 0.5, 1.0) * w[q] * w[p]
    scale = np.sqrt(product)
    change = scale * np.linalg.lstsq(basis * scale, integrals - basis @ product, rcond=1e-12)[0]
    W = np.zeros((count, count))
    W[q, p] = product + change
    return W + W.T


def _values(powers: list[tuple[int, int]], s: Matrix, t: Matrix) -> Matrix:
    """P_i(s + t - 1) P_j(s - t) at points; P_j is even or odd as j is."""
    along = legendre.legvander(s + t - 1, max(i for i, _ in powers))
    across = legendre.legvander(s - t, max(j for _, j in powers))
    return np.stack([along[:, i] * across[:, j] for i, j in powers], 1)


def _orthonormal(powers: list[tuple[int, int]], order: int) -> tuple[Matrix, Matrix]:
    """The triangular matrix that makes the functions orthonormal on the triangle t <= s, and their integrals then."""
    x, w = gauss_legendre(order)
    s, t = np.repeat(x, order), (x[:, None] * x).ravel()
    weights = (w[:, None] * x[:, None] * w).ravel()
    values = _values(powers, s, t)
    _, R = np.linalg.qr(np.sqrt(weights)[:, None] * values)
    return np.asarray(R, np.float64), np.asarray(np.linalg.solve(R.T, values.T @ weights), np.float64)
