"""Nodes and weights on [0, 1]: Gauss-Legendre from numpy, its Kronrod extension from orthogonality."""

from functools import cache

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

Nodes = NDArray[np.float64]


@cache
def gauss_legendre(count: int) -> tuple[Nodes, Nodes]:
    """Exact for polynomials of degree 2 count - 1."""
    nodes, weights = legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


@cache
def gauss_kronrod(count: int) -> tuple[Nodes, Nodes, Nodes]:
    """The count Gauss nodes and the count + 1 that extend them to degree 3 count + 1.

    The new nodes are the zeros of the Stieltjes polynomial E, of degree count + 1, that is orthogonal to every
    lower degree under the sign-changing weight P_count (4.7). Returns nodes, their weights, and the weights of
    the Gauss rule on the same nodes (zero at the new ones).
    """
    nodes = np.sort(np.concatenate([legendre.leggauss(count)[0], _stieltjes_zeros(count)]))
    weights = _interpolatory_weights(nodes)
    gauss = np.zeros_like(nodes)
    gauss[1::2] = legendre.leggauss(count)[1]  # the two sets of nodes interlace
    return (nodes + 1) / 2, weights / 2, gauss / 2


def _stieltjes_zeros(count: int) -> Nodes:
    """E = P_{count+1} + sum_j e_j P_j with  int P_count E P_i dx = 0  for i <= count."""
    x, w = legendre.leggauss(2 * count + 2)
    P = legendre.legvander(x, count + 1)
    moments = P[:, : count + 1].T @ ((w * P[:, count])[:, None] * P)
    lower = np.linalg.lstsq(moments[:, :-1], -moments[:, -1], rcond=None)[0]  # odd/even halves: rank deficient
    return np.real(legendre.legroots(np.append(lower, 1.0)))


def _interpolatory_weights(nodes: Nodes) -> Nodes:
    """Exact for every degree below the number of nodes: int P_0 = 2, int P_i = 0."""
    moments = np.zeros(len(nodes))
    moments[0] = 2.0
    return np.asarray(np.linalg.solve(legendre.legvander(nodes, len(nodes) - 1).T, moments), np.float64)
