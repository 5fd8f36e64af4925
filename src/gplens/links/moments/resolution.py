"""How many Hermite coefficients any g needs: increased until what they leave out is below a stated error."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.links.moments.derivatives import differentiate
from gplens.links.moments.hermite import REACH, grid_of, hermite_functions

COUNTS = tuple(int(2 ** (k / 2)) for k in range(8, 29))
"""Coefficients per level: 16, 22, 32, ... 16384. The last two resolve the sigmoid to sd = 20."""

WIDEST = 50.0
"""The reach grows to 50 where g outgrows the density; beyond, sqrt(N(z; 0, 1)) underflows."""

GROUP = 128
"""Elements at a time: 128 x 16384 coefficients are 17 MB for each of the three derivatives."""

OUTER = 0.9
"""The tail is what |z| > 0.9 reach contributes."""


class Resolution(NamedTuple):
    """What the series (5.9) takes for every element."""

    terms: Int[Tensor, " e"]
    reach: float
    error: Float[Tensor, " e"]
    """The estimate at the last level; above the tolerance where that was not reached, zero where it was not tried."""


class Level(NamedTuple):
    """Coefficients of g', g'', g''' (first axis), and what is wrong with them, relative to max(1, E g^(i)^2)."""

    a: Float[Tensor, "3 e k"]
    size: Float[Tensor, "3 e"]
    rest: Float[Tensor, " e"]
    """What the coefficients leave of E g^(i)^2, the largest of the three  (5.11)."""

    tail: Float[Tensor, " e"]
    stein: Float[Tensor, " e"]
    """By how much E[g'' z] = sd E g''' fails: a jump in g'' that its autograd derivative misses."""


def resolve(
    g: Callable[[Tensor], Tensor], m: Float[Tensor, " e"], sd: Float[Tensor, " e"], tolerance: float
) -> Resolution:
    """Increase the coefficients of the elements that have not converged, and of these alone.

    Ends with the first group that does not converge, so that a g that cannot be integrated is noticed early.
    """
    terms, error, reach = torch.zeros_like(m, dtype=torch.long), torch.zeros_like(m), REACH
    for rows in range(0, m.numel(), GROUP):
        pending = torch.arange(rows, min(rows + GROUP, m.numel()), device=m.device)
        before = None
        for count in COUNTS:
            level = _level(g, m[pending], sd[pending], count, reach)
            terms[pending], error[pending] = count, _defect(level, before)
            if bool((level.tail > tolerance).any()):
                reach = min(reach * 4 / 3, WIDEST)
            left = ~(error[pending] <= tolerance)
            pending, before = pending[left], level.a[:, left]
            if pending.numel() == 0:
                break
        if pending.numel() > 0:
            break
    return Resolution(terms, reach, error)


def _defect(level: Level, before: Float[Tensor, "3 e h"] | None) -> Float[Tensor, " e"]:
    """The largest estimate of the error of a pair moment."""
    if before is None:
        return torch.full_like(level.rest, torch.inf)
    half = level.a[..., : before.shape[-1]]
    change = half - before
    # A change of a coefficient is multiplied by the coefficient of the partner, here its own; but none may be large.
    product = ((change * half).abs().sum(-1) / level.size).amax(0)
    square = (change.square().sum(-1) / level.size).amax(0)
    return torch.stack([level.rest, level.tail, level.stein, product, square]).nan_to_num(nan=torch.inf).amax(0)


def _level(
    g: Callable[[Tensor], Tensor], m: Float[Tensor, " e"], sd: Float[Tensor, " e"], count: int, reach: float
) -> Level:
    """The first `count` coefficients of every element."""
    grid = grid_of(count, reach=reach, like=m)
    z, w = grid.z.to(m.dtype), grid.w.to(m.dtype)
    values = differentiate(g, m[:, None] + sd[:, None] * z, order=3)[1:] * w
    a = torch.cat([values @ psi.to(m.dtype).T for psi in hermite_functions(grid.z, count)], dim=-1)  # (5.10)
    square = values.square() / grid.step
    total = square.sum(-1)
    size = total.clamp(min=1)
    rest = (total - a.square().sum(-1)).abs() / size  # (5.11)
    tail = square[..., z.abs() > OUTER * float(z[-1])].sum(-1) / size
    return Level(a, size, rest.amax(0), tail.amax(0), _stein(m, sd, a, size))


def _stein(
    m: Float[Tensor, " e"], sd: Float[Tensor, " e"], a: Float[Tensor, "3 e k"], size: Float[Tensor, "3 e"]
) -> Float[Tensor, " e"]:
    """|E[g'' z] - sd E g'''| / (sd size), less what rounding in g'' and m + sd z explains."""
    second, third = size[1].sqrt(), size[2].sqrt()
    rounding = 64 * torch.finfo(m.dtype).eps * (second + m.abs() * third)
    excess = (a[1, :, 1] - sd * a[2, :, 0]).abs() - rounding
    return torch.where(excess <= 0, 0, excess / (sd * third))
