"""Pair moments by Mehler's series, which takes one row of coefficients for each node of a path.

With psi_k the orthonormal Hermite functions, He_k(z) sqrt(N(z; 0, 1)/k!), and r = c/sqrt(v v'):

    E g^(i)(f) g^(j)(f') = sum_k r^k a_k^(i) a'_k^(j)                                    (5.9)
    a_k^(i) = E[g^(i)(m + sd z) He_k(z)]/sqrt(k!) = int g^(i)(m + sd z) sqrt(N(z; 0, 1)) psi_k(z) dz    (5.10)

The coefficients belong to a node, not to a pair: q nodes need q rows of g's, where a tensor rule needs q^2 tables. A
pair costs four multiply-adds per term. The series holds up to correlation +-1, where it is Parseval's sum. The
remainder after K terms is at most |r|^K sqrt(T_i T'_j), T_i = E g^(i)^2 - sum_{k<K} (a_k^(i))^2  (5.11).
"""

from collections.abc import Callable, Iterator
from math import ceil, pi, sqrt
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.expectations.link import PairMoments
from gplens.links.moments.checks import check_joint, correlation

REACH = 12.0
"""The integral (5.10) is cut at |z| = 12, where its factor sqrt(N(z; 0, 1)) is 2e-16 of its peak."""

BANDWIDTH = (4.0, 1.15)
"""psi_k oscillates with sqrt(k). A step of pi/(4 + sqrt(K)) integrates the products of the K first over all z to 4e-15
(K to 256). The additional 0.15 keeps the part of g beyond K terms from aliasing (4e-11 without it, for a sigmoid at
sd = 10)."""

CHUNK = 128
"""Hermite functions at a time; even, so that the first of a chunk is an even function."""

BLOCK = 32768
"""Pairs at a time: 256 kB per array, seven of which live at once in the cache."""

BUDGET = 2**20
"""Nodes x points z at a time, 8 MB per table of g's values."""


class HermiteGrid(NamedTuple):
    """A trapezoid rule in z."""

    z: Float[Tensor, " n"]
    w: Float[Tensor, " n"]
    """step sqrt(N(z; 0, 1))."""

    step: float


def grid_of(count: int, *, reach: float, like: Tensor) -> HermiteGrid:
    """The trapezoid rule for the first `count` coefficients, in float64 on the device of `like`."""
    half = ceil(reach * bandwidth(count) / pi)
    step = reach / half
    z = step * torch.arange(-half, half + 1, dtype=torch.float64, device=like.device)
    return HermiteGrid(z, step * ground_state(z), step)


def bandwidth(count: int) -> float:
    """Pi over the step."""
    return BANDWIDTH[0] + BANDWIDTH[1] * sqrt(count)


def ground_state(z: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """psi_0 = sqrt(N(z; 0, 1))."""
    return torch.exp(-(z**2) / 4) / (2 * pi) ** 0.25


def hermite_functions(z: Float[Tensor, " n"], count: int) -> Iterator[Float[Tensor, "k n"]]:
    """psi_0, psi_1, ... in chunks, by  sqrt(k+1) psi_{k+1} = z psi_k - sqrt(k) psi_{k-1}, stable upwards."""
    before, here = torch.zeros_like(z), ground_state(z)
    for start in range(0, count, CHUNK):
        rows = []
        for k in range(start, min(start + CHUNK, count)):
            rows.append(here)
            before, here = here, (z * here - sqrt(k) * before) / sqrt(k + 1)
        yield torch.stack(rows)


def expect_pairs(
    m: Float[Tensor, "b q"],
    v: Float[Tensor, "b q"],
    c: Float[Tensor, "b q q"],
    *,
    at: Callable[[Float[Tensor, "e n"]], Float[Tensor, "3 e n"]],
    count: Int[Tensor, "b q"],
    reach: Float[Tensor, " b"] | float = REACH,
    unit: Float[Tensor, " b"] | None = None,
) -> PairMoments:
    """(5.9)/unit^2, without gradients. Each path takes the largest `count` of its nodes as its number of terms.

    `at` gives g', g'' and g''' at points.
    """
    check_joint(m, v, c)
    out = PairMoments(*(torch.empty_like(c.detach()) for _ in range(4)))
    if c.numel() == 0:
        return out
    with torch.no_grad():
        units = m.new_ones(len(m)) if unit is None else unit
        for rows in blocks(count.amax(-1), c.shape[-1]):
            furthest = float(reach[rows].max()) if isinstance(reach, Tensor) else reach
            terms = int(count[rows].max())
            parts = sum_series(m[rows], v[rows], c[rows], units[rows], at=at, count=terms, reach=furthest)
            for whole, part in zip(out, parts, strict=True):
                whole[rows] = part
    return out


def blocks(count: Int[Tensor, " b"], q: int) -> tuple[Int[Tensor, " r"], ...]:
    """Rows in the order of their number of terms, so that few are summed further than they need."""
    nodes = BUDGET // int(2 * REACH * bandwidth(int(count.max())) / pi)
    return count.argsort().split(max(1, min(BLOCK // q**2, nodes // q)))


def sum_series(
    m: Float[Tensor, "b q"],
    v: Float[Tensor, "b q"],
    c: Float[Tensor, "b q q"],
    unit: Float[Tensor, " b"],
    *,
    at: Callable[[Float[Tensor, "e n"]], Float[Tensor, "3 e n"]],
    count: int,
    reach: float,
) -> PairMoments:
    """The first `count` terms of (5.9), fewer where every |r|^k has vanished."""
    r = correlation(v, c)
    grid = grid_of(count, reach=reach, like=m)
    values = at(m.reshape(-1, 1) + v.reshape(-1, 1).sqrt() * grid.z.to(m.dtype))
    even, odd = fold(values / unit.repeat_interleave(m.shape[1])[:, None] * grid.w.to(m.dtype))
    out = PairMoments(*(torch.zeros_like(c) for _ in range(4)))
    power = torch.ones_like(c)
    for psi in hermite_functions(grid.z[grid.z.numel() // 2 :], count):
        a = m.new_empty(3, len(psi), m.numel())
        a[:, ::2] = psi[::2].to(m.dtype) @ even  # (5.10)
        a[:, 1::2] = psi[1::2].to(m.dtype) @ odd
        accumulate(out, power, r, a.reshape(3, -1, *m.shape))
        power *= power.abs() > torch.finfo(m.dtype).eps ** 2  # underflow is slow: 18 s instead of 7 s at v = 400
        if not bool(power.any()):
            break
    return out


def fold(values: Float[Tensor, "3 e n"]) -> tuple[Float[Tensor, "3 h e"], Float[Tensor, "3 h e"]]:
    """Sums and differences over +-z on z >= 0: psi_k has the parity of k, which halves the products."""
    middle = values.shape[-1] // 2
    right, left = values[..., middle:], values[..., : middle + 1].flip(-1)
    even, odd = right + left, right - left
    even[..., 0] /= 2
    return even.transpose(-1, -2), odd.transpose(-1, -2)


def accumulate(
    out: PairMoments, power: Float[Tensor, "b q q"], r: Float[Tensor, "b q q"], a: Float[Tensor, "3 k b q"]
) -> None:
    """Add the terms of a chunk of coefficients, and leave `power` at the r^k of the next."""
    term = torch.empty_like(power)
    first, second = a[..., :, None], a[..., None, :]
    for k in range(a.shape[1]):
        torch.mul(power, first[0, k], out=term)
        out.E11.addcmul_(term, second[0, k])  # (5.9)
        out.E12.addcmul_(term, second[1, k])
        out.E13.addcmul_(term, second[2, k])
        torch.mul(power, first[1, k], out=term)
        out.E22.addcmul_(term, second[1, k])
        power.mul_(r)
