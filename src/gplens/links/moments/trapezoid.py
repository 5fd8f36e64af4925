"""One level of the trapezoid rule over z ~ N(0, 1), f = m + sd z, with everything needed to judge it."""

from collections.abc import Callable
from math import pi, sqrt
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.links.moments.derivatives import differentiate

# The grid is shifted by this fraction of a step (golden section). On grids through zero a step and its half
# alias the same frequencies: for sin(f) at m = 1, sd = 20 both 32 and 64 nodes give 0.0544 in place of e^-200.
# Shifted, they disagree.
OFFSET = (3 - sqrt(5)) / 2

OUTER = 0.9
"""The tail is what |z| > 0.9 reach contributes."""

ROUNDING = 16
"""Units of rounding granted to Stein's identity; eleven smooth g were seen to use 0.6 at sd < 1e-3."""


class TrapezoidLevel(NamedTuple):
    """Integrals of g, g', g'' (first axis) for every element, and their defects in the same units."""

    moments: Float[Tensor, "3 b"]
    size: Float[Tensor, "3 b"]
    """E|g|, E|g'| and max(E|g''|, E|g'|/sd), which errors are relative to  (2.9a)."""

    tail: Float[Tensor, "3 b"]
    """The contribution of the outer tenth of the range."""

    stein: Float[Tensor, "3 b"]
    """The violations of E[g z] = sd E g' and E[g' z] = sd E g'', which reveal kinks and jumps. Zero for g itself."""


def integrate(
    g: Callable[[Tensor], Tensor],
    m: Float[Tensor, " b"],
    sd: Float[Tensor, " b"],
    reach: Float[Tensor, " b"],
    count: int,
) -> TrapezoidLevel:
    """The trapezoid rule with `count` nodes over |z| < reach; memory O(b count)."""
    t = (torch.arange(count, dtype=m.dtype, device=m.device) + OFFSET) * (2 / count) - 1
    z = reach[:, None] * t
    w = torch.exp(-(z**2) / 2) * reach[:, None] * (2 / count / sqrt(2 * pi))
    terms = differentiate(g, m[:, None] + sd[:, None] * z) * w
    moments, absolute = terms.sum(-1), terms.abs()
    size, tail = absolute.sum(-1), absolute[..., t.abs() > OUTER].sum(-1)
    stein = _stein(m, sd, moments, size, first=(terms[:2] * z).sum(-1))
    size[2] = torch.where(sd > 0, torch.maximum(size[2], size[1] / sd), size[2])  # (2.9a)
    return TrapezoidLevel(moments, size, tail, stein)


def _stein(
    m: Float[Tensor, " b"],
    sd: Float[Tensor, " b"],
    moments: Float[Tensor, "3 b"],
    size: Float[Tensor, "3 b"],
    first: Float[Tensor, "2 b"],
) -> Float[Tensor, "3 b"]:
    """|E[g^(k) z] - sd E g^(k+1)| / sd, k = 0, 1, less what rounding in g and m + sd z explains; zero for g itself."""
    rounding = ROUNDING * torch.finfo(m.dtype).eps * (size[:2] + m.abs() * size[1:])
    excess = (first - sd * moments[1:]).abs() - rounding
    return torch.cat([torch.zeros_like(size[:1]), torch.where(excess <= 0, 0, excess / sd)])
