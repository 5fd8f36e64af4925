"""Gauss-Kronrod nodes, paths cut into panels, and error estimates from two rules on a panel (MATH 4.7, 4.9)."""

from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.polynomial import legendre
from numpy.typing import NDArray
from torch import Tensor

from gplens.paths.integrals import ratio

Nodes = NDArray[np.float64]
NEWTON = 3
"""The number of Newton steps after which the zeros of a polynomial are exact to rounding."""


@cache
def gauss_legendre(count: int) -> tuple[Nodes, Nodes]:
    """Exact for polynomials of degree 2 count - 1."""
    nodes, weights = legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


@cache
def gauss_kronrod(count: int) -> tuple[Nodes, Nodes, Nodes]:
    """The count Gauss nodes and the count + 1 Kronrod nodes that extend them to degree 3 count + 1.

    The new nodes are the zeros of the Stieltjes polynomial E, of degree count + 1, that is orthogonal to every
    lower degree under the sign-changing weight P_count (4.7). Returns nodes, their weights, and the weights of
    the Gauss rule on the same nodes (zero at the new ones).
    """
    gauss_nodes, gauss_weights = legendre.leggauss(count)
    nodes = np.sort(np.concatenate([gauss_nodes, stieltjes_zeros(gauss_nodes)]))
    weights = interpolatory_weights(nodes)
    gauss = np.zeros_like(nodes)
    gauss[1::2] = gauss_weights  # the two sets of nodes interlace
    return (nodes + 1) / 2, weights / 2, gauss / 2


def stieltjes_zeros(nodes: Nodes) -> Nodes:
    """The n + 1 nodes that extend n symmetric nodes: zeros of E, where  int G E P_i dx = 0  for i <= n  (4.7).

    G is the polynomial of degree n whose zeros are the given nodes. G and E are even or odd, so that only every second
    Legendre polynomial enters.
    """
    n = len(nodes)
    x, w = legendre.leggauss(2 * n + 4)
    distances = 2 * (x[:, None] - nodes)
    G = np.sign(distances).prod(1) * np.exp(np.log(np.abs(distances)).sum(1))
    norms = np.sqrt(np.arange(n + 2) + 0.5)
    P = legendre.legvander(x, n + 1) * norms
    degrees, tested = np.arange((n + 1) % 2, n + 2, 2), np.arange(1, n + 1, 2)
    moments = P[:, tested].T @ ((w * G)[:, None] * P[:, degrees])
    E = np.zeros(n + 2)
    E[degrees] = np.append(np.linalg.lstsq(moments[:, :-1], -moments[:, -1], rcond=None)[0], 1.0) * norms[degrees]
    zeros, slope = np.sort(np.real(legendre.legroots(E))), legendre.legder(E)
    for _ in range(NEWTON):
        zeros = zeros - legendre.legval(zeros, E) / legendre.legval(zeros, slope)
    return np.asarray((zeros - zeros[::-1]) / 2, np.float64)


def interpolatory_weights(nodes: Nodes) -> Nodes:
    """Weights that are exact for every degree below the number of nodes: int P_0 = 2, int P_i = 0."""
    moments = np.zeros(len(nodes))
    moments[0] = 2.0
    return np.asarray(np.linalg.solve(legendre.legvander(nodes, len(nodes) - 1).T, moments), np.float64)


@final
@dataclass(frozen=True, eq=False)
class Panels:
    """Pieces [start, start + width] of paths, each with the index of its path."""

    owner: Int[Tensor, " s"]
    start: Float[Tensor, " s"]
    width: Float[Tensor, " s"]

    @staticmethod
    def equal(count: Int[Tensor, " b"]) -> "Panels":
        """`count` panels of equal width for each path."""
        owner = torch.repeat_interleave(torch.arange(count.shape[0]), count)
        first = torch.repeat_interleave(count.cumsum(0) - count, count)
        width = 1 / count[owner].double()
        return Panels(owner, (torch.arange(owner.shape[0]) - first) * width, width)

    @staticmethod
    def cut(count: Int[Tensor, " b"], places: Float[Tensor, "b k"]) -> "Panels":
        """`count` panels of equal width for each path, cut at its places in (0, 1)."""
        panels = Panels.equal(count)
        inside = (places > 0) & (places < 1)
        if not bool(inside.any()):
            return panels
        owner = torch.cat([panels.owner, inside.nonzero()[:, 0]])
        start = torch.cat([panels.start, places[inside]])
        order = np.lexsort((start.numpy(), owner.numpy()))
        owner, start = owner[order], start[order]
        last = torch.cat([owner[1:] != owner[:-1], torch.ones(1, dtype=torch.bool)])
        width = torch.where(last, 1.0, start.roll(-1)) - start
        return Panels(owner, start, width).take(width > 0)

    def take(self, chosen: Bool[Tensor, " s"] | Int[Tensor, " k"]) -> "Panels":
        """Some of the panels, by a mask or by their numbers."""
        return Panels(self.owner[chosen], self.start[chosen], self.width[chosen])

    def halved(self) -> "Panels":
        """Both halves of every panel."""
        start = torch.stack([self.start, self.start + self.width / 2], dim=1).flatten()
        return Panels(self.owner.repeat_interleave(2), start, (self.width / 2).repeat_interleave(2))


MARGIN = {True: 100, False: 1000}
"""Safety factors on the measured ratio of Kronrod's to Gauss's error, if the integrand is analytic or not. Recipe:
scripts/kronrod_gain.py"""
LEAST = {True: 3e-3, False: 0.1}
"""The smallest ratio that is used, however small the measured one."""
DECAY = 4
"""Safety factor on the ratio of successive differences between three nested rules."""
MARGIN_WITH_DECAY = 40
"""Safety factor on the ratio of the gaps of two rules, if the ratio of successive differences is known too."""
LEAST_WITH_DECAY = 1e-3


def gain(
    higher: Float[Tensor, "*b"],
    lower: Float[Tensor, "*b"],
    possible: Float[Tensor, "*b"],
    *,
    smooth: bool,
    decay: Float[Tensor, "*b"] | None = None,
) -> Float[Tensor, "*b"]:
    """The part of |higher rule - lower rule| that is taken as the error of the higher one (4.9a, 4.9c).

    `higher` and `lower` are the gaps of the two sums over features. `possible` is the gap that the lower sum would have
    if the errors of the features were independent. If these errors cancel instead, the gaps say nothing about single
    features, and the gain is one. `decay` is the ratio of this difference to the previous one, if three rules are
    nested; for an integrand that is not analytic, it bounds the result from below.
    """
    cancelling = (possible / lower).clamp(min=1.0)
    if smooth or decay is None:
        part = ratio(MARGIN[smooth] * higher, lower).clamp(LEAST[smooth], 1.0) * cancelling
    else:
        part = torch.maximum(ratio(MARGIN_WITH_DECAY * higher, lower) * cancelling, DECAY * decay)
        part = part.clamp(min=LEAST_WITH_DECAY)
    return part.nan_to_num(nan=1.0, posinf=1.0).clamp(max=1.0)
