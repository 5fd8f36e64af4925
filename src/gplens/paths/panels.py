"""Gauss-Kronrod nodes, paths cut into panels, and what follows a panel that is not settled (MATH 4.7, 4.9)."""

from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.polynomial import legendre
from numpy.typing import NDArray
from torch import Tensor

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


LAST_TERMS = 4
"""The last terms of a Legendre series, the largest of which tells what it lacks (4.9b, 4.10)."""
KINKS = 0.5
"""The part of it that is taken as the error of Kronrod's sum over a kink. Recipe: scripts/kronrod_gain.py"""


@cache
def interpolation(order: int) -> Float[Tensor, "q q"]:
    """From values at the Kronrod nodes of a panel to the coefficients of their Legendre series."""
    nodes = 2 * gauss_kronrod(order)[0] - 1
    return torch.as_tensor(np.linalg.inv(legendre.legvander(nodes, len(nodes) - 1)))


@cache
def panel_weights(order: int, *, kinked: bool) -> tuple[Float[Tensor, " q"], Float[Tensor, "r q"]]:
    """Kronrod's nodes; his weights, and those whose sums tell the error.

    These are Kronrod - Gauss, and for an integrand with kinks, on which two rules may agree by chance, the last
    coefficients of its Legendre series too (4.9b).
    """
    t, w, gauss = (torch.as_tensor(part) for part in gauss_kronrod(order))
    rules = torch.stack([w, w - gauss])
    return t, torch.cat([rules, KINKS * interpolation(order)[-LAST_TERMS:]]) if kinked else rules


NEXT = {4: 7, 5: 7, 7: 15}
"""Gauss nodes of the second attempt at a panel, by those of the first."""
LAST = 15
"""The most Gauss nodes of a panel. A panel that they do not settle is halved."""


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
        owner = torch.repeat_interleave(torch.arange(len(count)), count)
        first = torch.repeat_interleave(count.cumsum(0) - count, count)
        width = 1 / count[owner].double()
        return Panels(owner, (torch.arange(len(owner)) - first) * width, width)

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

    def refined(self, order: Int[Tensor, " s"]) -> "tuple[Panels, Int[Tensor, ' r']]":
        """Panels to be tried with more nodes, and the halves of those that already had the most; with their orders."""
        whole = order < LAST
        kept, cut = self.take(whole), self.take(~whole).halved()
        owner, start = torch.cat([kept.owner, cut.owner]), torch.cat([kept.start, cut.start])
        width = torch.cat([kept.width, cut.width])
        following = torch.tensor(
            [NEXT[nodes] for nodes in order[whole].tolist()] + [LAST] * (len(owner) - len(kept.owner))
        )
        return Panels(owner, start, width), following


MARGIN = {True: 100, False: 1000}
"""Safety factor on the measured ratio of Kronrod's to Gauss's error, by whether the integrand is analytic. Recipe:
scripts/kronrod_gain.py"""
LEAST = {True: 3e-3, False: 0.1}
"""The smallest ratio that is believed, however small the measured one."""


def gain(
    kronrod: Float[Tensor, "*b"], gauss: Float[Tensor, "*b"], possible: Float[Tensor, "*b"], *, smooth: bool
) -> Float[Tensor, "*b"]:
    """The part of |Kronrod - Gauss| that is taken as Kronrod's error, given how far both are from the truth (4.9a).

    `possible` is how far Gauss's sums would be from the truth if the errors of the features were independent. If they
    cancel instead, the distances tell nothing of the features, and there is no gain.
    """
    part = ratio(MARGIN[smooth] * kronrod, gauss).clamp(LEAST[smooth], 1.0)
    return (part * (possible / gauss).clamp(min=1.0)).nan_to_num(nan=1.0, posinf=1.0).clamp(max=1.0)


def ratio(a: Float[Tensor, "*b"], b: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    """a / b, with 0/0 = 0: if nothing changes there is no error."""
    return (a / b).nan_to_num(nan=0.0, posinf=torch.inf)
