"""Gaussian moments of sigmoid and softplus, by two trapezoid rules, relative to their own size however small.

With G the sharp limit of g (a step for the sigmoid, max(f, 0) for the softplus) and L a logistic variable:

    E g(f) = int g(m + sd z) N(z; 0, 1) dz           (2.6)   sd <= 1.5, 45 nodes in z
    E g(f) = E_L E G(f - L),  f - L ~ N(m - L, v)    (2.7)   sd >  1.5, 51 nodes in L; the inner E is closed

Both integrands are analytic in a strip, where a trapezoid converges like exp(-2 pi width / step).
Gauss-Hermite needs 88 nodes for 1e-10 at sd = 2, 480 at sd = 5 and more than 4000 at sd = 20
(scripts/gauss_hermite_nodes.py).

Both are used for m <= 0 alone, where g is small: sigmoid(f) = 1 - sigmoid(-f), softplus(f) = f + softplus(-f)  (2.7c).
Where m < -v/2, the bulk of (2.7) is far from L = 0. There e^f is taken out of g, which moves the mean by v:

    E[e^f h(f)] = e^(m + v/2) E h(f + v)                                             (2.7d)

Accuracy in float64: 5e-12 for every v >= 0 (checked to v = 400, |m| = 600), relative to E g, E g' and E |g''| at -|m|.
In float32 rounding dominates.
"""

from collections.abc import Callable, Iterator
from math import asinh
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.expectations.link import Moments
from gplens.lines.shapes import Batch
from gplens.links.moments.hermite import REACH
from gplens.processes.process import check_marginal

# The recipe of the constants: the largest error of the four moments over 240 values of m in [-100, 100],
# against a trapezoid of step 0.15/sd in z. (2.6) has its poles at z = i pi/sd and (2.7) loses exp(pi^2/2v):
# both are worst at the switch, where these steps give 3.9e-13 and 4.2e-13.
SWITCH = 1.5**2  # the v where (2.7) takes over
Z_STEP, Z_END = 0.36, 7.92  # N(z; 0, 1) carries 2e-15 beyond
Z_FAR = 9.36  # where g is e^f, its bulk is at z = sd: beyond 7.86 from there N(z; 0, 1) carries 4e-15
L_STEP, L_END = 0.5, 30.0  # the logistic density carries 1e-13 beyond
L_FAR = 70.0  # at m = -v/2 the integrand falls like exp(-|L|/2) only, and exp(-35) is 6e-16
L_STRETCH = 5.0  # L = 5 sinh(t/5): 51 nodes where plain L takes 121; the poles at L = i pi stay as far away
FAR = -3.0
"""The mean below which the longer ranges are used; above, what the shorter ones leave out is 1e-13 of the result."""

# The recipe of the terms of (5.9): for m in [0, 100] and nine sd from 0.02 to 20, the last k from which the absolute
# values of the terms of E11, E13 and E22 still add up to 1e-11 at correlation 1, for sigmoid and softplus, is 3, 14,
# 33, 63, 104, 219, 572, 2138, 8039 at sd = 0.02, 0.5, 1, 1.5, 2, 3, 5, 10, 20. The theory is exp(-2 pi sqrt(k)/sd).
TERMS = (12.0, 12.0, 20.5)  # times 1, sd, v

BLOCK = 8192
"""Elements at a time: 8192 x 51 doubles are 3 MB per temporary, some ten of which live at once."""


class LogisticLink(NamedTuple):
    """What (2.6) and (2.7) take of a link."""

    at: Callable[[Float[Tensor, "b q"]], Moments]
    """g, g', g'' at points below 700, which those of (2.6) for m <= 0 are."""
    sharp: Callable[[Float[Tensor, "b q"], Float[Tensor, "b 1"]], Moments]
    """The Gaussian moments of the sharp limit G for a mean and an sd."""
    tilted: Callable[[Float[Tensor, "b q"], Float[Tensor, "b 1"]], Moments]
    """What is averaged over L in place of `sharp` after (2.7d), with the mean -(m + v) - L."""
    reflected: Callable[[Float[Tensor, " b"], Moments], Moments]
    """The moments at the mean m, given those at -m  (2.7c)."""


def expect(m: Batch, v: Batch, link: LogisticLink) -> Moments:
    """E g, E g', E g'' by (2.6) or (2.7), whichever fits the m and v of the element."""
    check_marginal(m, v)
    means, variances = -m.reshape(-1).abs(), v.reshape(-1)
    deviations, wide, tilt = variances.sqrt(), variances > SWITCH, means < -variances / 2
    out = m.new_empty(3, m.numel())
    distant = means < FAR
    for rows, far in _blocks(~wide, distant):
        z, w = gaussian_nodes(m, Z_FAR if far else Z_END)
        out[:, rows] = _average(link.at(means[rows, None] + deviations[rows, None] * z), w)  # (2.6)
    for rows, far in _blocks(wide & ~tilt, distant):
        L, w = logistic_nodes(m, L_FAR if far else L_END)
        out[:, rows] = _average(link.sharp(means[rows, None] - L, deviations[rows, None]), w)  # (2.7)
    shifted = -(means + variances)
    for rows, far in _blocks(wide & tilt, shifted < FAR):
        L, w = logistic_nodes(m, L_FAR if far else L_END)
        average = _average(link.tilted(shifted[rows, None] - L, deviations[rows, None]), w)
        out[:, rows] = torch.exp(means[rows] + variances[rows] / 2) * average  # (2.7d)
    left = Moments(*out)
    right = link.reflected(-means, left)
    here = m.reshape(-1) > 0
    return Moments(*(torch.where(here, a, b).reshape(m.shape) for a, b in zip(right, left, strict=True)))


def terms(v: Batch) -> Int[Tensor, "*batch"]:
    """How many terms (5.9) takes for an absolute error of 1e-11."""
    constant, linear, quadratic = TERMS
    return (constant + linear * v.sqrt() + quadratic * v).ceil().long()


def reach(m: Float[Tensor, "b q"], v: Float[Tensor, "b q"]) -> Float[Tensor, " b"]:
    """The |z| that (5.10) takes for each path: more where the bulk of g'^2 N(z; 0, 1) is far out, at f = 0 or 2 sd."""
    sd = v.sqrt()
    bulk = torch.where(sd > 0, torch.minimum(2 * sd, m.abs() / sd), 0)
    return REACH + (bulk - 2).clamp(min=0).ceil().amax(-1) if m.numel() else m.new_full((len(m),), REACH)


def gaussian_nodes(like: Tensor, end: float) -> tuple[Float[Tensor, " q"], Float[Tensor, " q"]]:
    """Nodes in z and weights, which sum to one, of the trapezoid (2.6) to |z| = end."""
    z = Z_STEP * _integers(end / Z_STEP, like)
    w = torch.exp(-(z**2) / 2)
    return z, w / w.sum()


def logistic_nodes(like: Tensor, end: float) -> tuple[Float[Tensor, " q"], Float[Tensor, " q"]]:
    """Nodes in L and weights, which sum to one, of the trapezoid (2.7) to |L| = end in t, L = 5 sinh(t/5)."""
    t = L_STEP * _integers(L_STRETCH * asinh(end / L_STRETCH) / L_STEP, like) / L_STRETCH
    L = L_STRETCH * torch.sinh(t)
    w = torch.cosh(t) / torch.cosh(L / 2) ** 2
    return L, w / w.sum()


def _integers(end: float, like: Tensor) -> Float[Tensor, " q"]:
    count = round(end)
    return torch.arange(-count, count + 1, dtype=like.dtype, device=like.device)


def _blocks(mask: Tensor, far: Tensor) -> Iterator[tuple[Tensor, bool]]:
    """The elements of the mask that are not far, and those that are, in blocks; nothing where there is none."""
    if not bool(mask.any()):
        return
    for side, which in ((False, mask & ~far), (True, mask & far)):
        rows = which.nonzero().squeeze(-1)
        for block in rows.split(BLOCK) if rows.numel() else ():
            yield block, side


def _average(points: Moments, w: Float[Tensor, " q"]) -> Float[Tensor, "3 b"]:
    return torch.stack([values @ w for values in points])
