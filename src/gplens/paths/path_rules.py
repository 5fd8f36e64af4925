"""Gauss's rules for whole paths, with the sums that tell their error (MATH 4.15)."""

from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.polynomial import legendre
from torch import Tensor

MOMENTS = 4
"""Legendre polynomials with which attributions have to add up, from P_0 = 1 on."""

LAST = 2
"""Last coefficients of the Legendre series of the gradient, which tell whether features cancel in the sums."""

SIZES = (12, 18, 27, 40, 60, 92)
"""Numbers of nodes. Paths with the same number are evaluated together, and each such set costs a fixed time: ratios of
about 1.5 are better for small tables than smaller ones, and as good for large ones. Recipe: benchmarks/blocks.py"""

PSI_SIZES = (12, 15, 18, 22, 27, 33, 40, 49, 60, 75, 92)
"""Numbers of nodes of psi, which is evaluated at all nodes of all paths at once, so that sets cost less."""

AGAIN = (2, 4, 5)
"""Indices in SIZES of the rules for paths that missed: these are few, so that the sets are few rather than small."""
LEAST, MOST = 1.25, 2.5
"""The next attempt at a path has at least so many times the nodes; panels are better than more than the most."""


@cache
def as_numbers(sizes: tuple[int, ...]) -> Float[Tensor, " k"]:
    """The same sizes as a tensor."""
    return torch.tensor(sizes, dtype=torch.float64)


END = (1.0, 0.0)
"""Where inputs and baselines are on a path."""


@final
@dataclass(frozen=True, eq=False)
class PathRule:
    """Gauss's nodes on [0, 1] for latent functions, and as many or more for psi, both followed by ends of the path."""

    t: Float[Tensor, " q"]
    """The nodes of the latent functions."""
    count: int
    """How many of them are Gauss's."""
    gaps: Float[Tensor, " _"]
    """Distances between Gauss's nodes, and to the first end."""
    s: Float[Tensor, " p"]
    """The nodes of psi."""
    ends: int
    """How many ends follow: none, t = 1, or t = 1 and t = 0."""
    between: Float[Tensor, "q p"]
    """From values at the nodes of latent functions to those at the nodes of psi: M' of (4.15)."""
    spread: Float[Tensor, "p lq"]
    """From psi_m at its nodes to the weights of all sums at those of the latent functions, one sum after the other:
    int P_j psi_m, from P_0 = 1 on, then two coefficients of a Legendre series  (4.16)."""
    channels: Float[Tensor, "1 l p"]
    """Weights of the same sums at the nodes of psi."""
    slopes: Float[Tensor, "j p"]
    """Weights of int P_j' T  (4.17)."""


@cache
def path_rule(count: int, psi: int, ends: int) -> PathRule:
    """The rule of so many nodes and ends."""
    (x, w), (y, u) = legendre.leggauss(count), legendre.leggauss(psi)
    every = np.arange(count)
    M = legendre.legvander(y, count - 1) @ ((every[:, None] + 0.5) * legendre.legvander(x, count - 1).T * w)
    degrees = [*range(MOMENTS), count - 1, count - 2]
    scale = np.array([1.0] * MOMENTS + [2 * j + 1 for j in degrees[MOMENTS:]])
    P = scale * legendre.legvander(y, count - 1)[:, degrees] * u[:, None] / 2
    spread = np.pad(P[:, :, None] * M[:, None], ((0, ends), (0, 0), (0, ends)))
    slopes = np.stack([legendre.legval(y, legendre.legder(np.eye(MOMENTS)[j])) * u for j in range(MOMENTS)])
    between = np.zeros((count + ends, psi + ends))
    between[:count, :psi], between[count:, psi:] = M.T, np.eye(ends)
    t = torch.as_tensor(np.concatenate([(x + 1) / 2, END[:ends]]))
    return PathRule(
        t,
        count,
        t[: count + min(ends, 1)].diff(),
        torch.as_tensor(np.concatenate([(y + 1) / 2, END[:ends]])),
        ends,
        torch.as_tensor(between),
        torch.as_tensor(spread.reshape(len(spread), -1)),
        torch.as_tensor(np.pad(P.T, ((0, 0), (0, ends)))[None]),
        torch.as_tensor(np.pad(slopes, ((0, 0), (0, ends)))),
    )


def next_sizes(
    size: Int[Tensor, " b"], error: Float[Tensor, "b o"], allowed: Float[Tensor, "b o"]
) -> Int[Tensor, " b"]:
    """The index in SIZES of the next rule, if the error of the last one falls geometrically with its nodes."""
    more = torch.where(error > allowed, torch.log(allowed) / torch.log(error.clamp(max=0.5)), 0.0).amax(1)
    more = torch.where(more <= MOST, more.clamp(min=LEAST), torch.inf)
    count = torch.tensor(SIZES, dtype=error.dtype)[size] * more
    sizes = [SIZES[index] for index in AGAIN]
    return size.new_tensor([*AGAIN, len(SIZES)])[torch.bucketize(count, count.new_tensor(sizes))]
