"""The number of Hermite coefficients that a function g needs, increased until the rest is below a stated error."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.units import power_of_two, quotient
from gplens.links.moments.derivatives import differentiate
from gplens.links.moments.hermite import REACH, grid_of, hermite_functions
from gplens.links.moments.noise import rounding_of

COUNTS = tuple(int(2 ** (k / 2)) for k in range(8, 31))
"""Coefficients per level: 16, 22, 32, ... 32768. The last two resolve the sigmoid to sd = 20."""

WIDEST = 50.0
"""The reach grows to 50 where g outgrows the density; beyond, sqrt(N(z; 0, 1)) underflows."""

NOISY = (1024, COUNTS[-1])
"""Levels at which the remaining error is compared with the rounding errors of g itself."""

GROUP = 64
"""Elements at a time: 64 x 32768 coefficients are 17 MB for each of the three derivatives."""

OUTER = 0.9
"""The tail is what |z| > 0.9 reach contributes."""


class Resolution(NamedTuple):
    """The number of terms and the range of the series (5.9) for every element."""

    terms: Int[Tensor, " e"]
    reach: float
    error: Float[Tensor, " e"]
    """The estimate at the last level; above the tolerance where that was not reached, zero where it was not tried."""


class ResolvedLevel(NamedTuple):
    """Coefficients of g', g'', g''' (first axis) in units of their size near m, and defects relative to `size`."""

    a: Float[Tensor, "3 e k"]
    size: Float[Tensor, "3 e"]
    """E g^(i)^2, or that of a lower derivative over sd^2 or sd^4 if that is larger  (5.11a)."""
    rest: Float[Tensor, " e"]
    """The part of E g^(i)^2 that the coefficients leave out, the largest of the three  (5.11)."""

    tail: Float[Tensor, " e"]
    stein: Float[Tensor, " e"]
    """The violation of E[g'' z] = sd E g''', which reveals a jump in g'' that its autograd derivative misses."""


def resolve(
    g: Callable[[Tensor], Tensor], m: Float[Tensor, " e"], sd: Float[Tensor, " e"], tolerance: float
) -> Resolution:
    """Increase the number of coefficients of those elements that have not converged.

    Stops at the first group that does not converge, so that a g that cannot be integrated is noticed early.
    """
    terms, error, reach = torch.zeros_like(m, dtype=torch.long), torch.zeros_like(m), REACH
    for rows in range(0, m.numel(), GROUP):
        pending = torch.arange(rows, min(rows + GROUP, m.numel()), device=m.device)
        before, unit = None, _unit(g, m[pending], sd[pending])
        for count in COUNTS:
            level = _level(g, m[pending], sd[pending], unit, count, reach, tolerance if count in NOISY else None)
            terms[pending], error[pending] = count, _defect(level, before)
            if bool((level.tail > tolerance).any()):
                reach = min(reach * 4 / 3, WIDEST)
            left = ~(error[pending] <= tolerance)
            pending, before, unit = pending[left], level.a[:, left], unit[left]
            if pending.numel() == 0:
                break
        if pending.numel() > 0:
            break
    return Resolution(terms, reach, error)


def _defect(level: ResolvedLevel, before: Float[Tensor, "3 e h"] | None) -> Float[Tensor, " e"]:
    """The largest estimate of the error of a pair moment."""
    if before is None:
        return torch.full_like(level.rest, torch.inf)
    half = level.a[..., : before.shape[-1]]
    change = half - before
    # A change of a coefficient is multiplied by the coefficient of the partner, here its own; but none may be large.
    product = quotient((change * half).abs().sum(-1), level.size).amax(0)
    square = quotient(change.square().sum(-1), level.size).amax(0)
    return torch.stack([level.rest, level.tail, level.stein, product, square]).nan_to_num(nan=torch.inf).amax(0)


def _level(
    g: Callable[[Tensor], Tensor],
    m: Float[Tensor, " e"],
    sd: Float[Tensor, " e"],
    unit: Float[Tensor, " e"],
    count: int,
    reach: float,
    tolerance: float | None,
) -> ResolvedLevel:
    """The first `count` coefficients of every element. With a tolerance, rounding errors of g are within it."""
    grid = grid_of(count, reach=reach, like=m)
    z, w = grid.z.to(m.dtype), grid.w.to(m.dtype)
    values = differentiate(g, m[:, None] + sd[:, None] * z, order=3)[1:] / unit[:, None] * w
    a = torch.cat([values @ psi.to(m.dtype).T for psi in hermite_functions(grid.z, count)], dim=-1)  # (5.10)
    square = values.square() / grid.step
    total = square.sum(-1)
    size = _size(total, sd)
    noise = torch.zeros_like(size)
    if tolerance is not None:
        noise = rounding_of(g, m, reach * sd, order=3)[1:] / unit
        size = torch.maximum(size, noise**2 / tolerance)
    rest = quotient((total - a.square().sum(-1)).abs(), size)  # (5.11)
    tail = quotient(square[..., z.abs() > OUTER * float(z[-1])].sum(-1), size)
    return ResolvedLevel(a, size, rest.amax(0), tail.amax(0), _stein(m, sd, a, size, noise))


def _unit(g: Callable[[Tensor], Tensor], m: Float[Tensor, " e"], sd: Float[Tensor, " e"]) -> Float[Tensor, " e"]:
    """Sizes of g', g'', g''' near m, as units in which squares neither underflow nor overflow."""
    z = torch.linspace(-3, 3, 7, dtype=m.dtype, device=m.device)
    return power_of_two(differentiate(g, m[:, None] + sd[:, None] * z, order=3)[1:].abs().amax((0, 2)))


def _size(total: Float[Tensor, "3 e"], sd: Float[Tensor, " e"]) -> Float[Tensor, "3 e"]:
    """What the errors of g', g'' and g''' are relative to: (5.1) multiplies higher ones by powers of sd  (5.11a)."""
    lower = torch.where(sd > 0, 1 / sd**2, 0)
    second = torch.maximum(total[1], total[0] * lower)
    return torch.stack([total[0], second, torch.maximum(total[2], second * lower)])


def _stein(
    m: Float[Tensor, " e"],
    sd: Float[Tensor, " e"],
    a: Float[Tensor, "3 e k"],
    size: Float[Tensor, "3 e"],
    noise: Float[Tensor, "3 e"],
) -> Float[Tensor, " e"]:
    """|E[g'' z] - sd E g'''| / (sd size), less what rounding in g'' and m + sd z explains."""
    second, third = size[1].sqrt(), size[2].sqrt()
    rounding = 64 * torch.finfo(m.dtype).eps * (second + m.abs() * third) + noise[1] + sd * noise[2]
    excess = (a[1, :, 1] - sd * a[2, :, 0]).abs() - rounding
    return torch.where(excess <= 0, 0, excess / (sd * third))
