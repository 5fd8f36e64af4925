"""Where to put the nodes of the integrals (3.2) to (3.4): range, step and change of variable per element.

All choices come from one closed form, Laplace's approximation of (3.1), with w exp(w) = v exp(m - s):

    log L ~ -(w^2 + 2 w)/(2 v) - log(1 + w)/2,    L'/L ~ w/v,    -(log L)'' ~ w/(v (1 + w))      (3.5)

(3.5) only steers; the defects measured by `block` decide whether an element is accepted.
"""

from dataclasses import dataclass, fields
from math import exp, log, pi, sqrt
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

SAFETY = 0.65
"""Factor on the step (3.6). Recipe: scripts/softmax_constants.py sweep; 0.6 and 0.7 cost the same within 6 %."""

STRETCH = 6.0
"""Length of the stretch (3.7) in steps. Recipe: scripts/softmax_constants.py sweep; 5 costs least work for
tolerances of 1e-6 and 1e-9, 6 for 1e-11."""

OFFSET = 7.0
"""Steps from the last probe that needs the step h to the bend of (3.7). Recipe: scripts/softmax_constants.py
sweep; flat from 6 to 8, the larger with fewer elements done again; 4 costs 10 to 20 % more."""

STRIP = 0.01
"""Factor on epsilon for `strip_step`, which then holds for the stretched grid too. Recipe:
scripts/softmax_constants.py sweep; no element of v = 0 is done again, where with 0.1 and 1 nearly all are."""

PROBES = 8
ZOOMS = 3
"""Probes of (3.5) per element: 8 over the whole range, then twice 8 around the left end of what matters."""

KINDS = 2**16
"""More than the half octaves that a float64 has, so that three of them make one number."""


Probes = Float[Tensor, "e k"]


@final
@dataclass(frozen=True)
class Plan:
    """The grid of each element: from `low`, which is the origin of m, s runs to `high` with step h, stretched
    by the length `stretch` right of `bend`."""

    rows: Int[Tensor, " e"]
    m: Float[Tensor, "e c"]
    v: Float[Tensor, "e c"]
    high: Float[Tensor, " e"]
    h: Float[Tensor, " e"]
    stretch: Float[Tensor, " e"]
    bend: Float[Tensor, " e"]

    def select(self, index: Tensor) -> "Plan":
        """The plan of some of the elements."""
        return Plan(*(getattr(self, field.name)[index] for field in fields(self)))

    def refine(self) -> "Plan":
        """A finer step over a range that is wider by a stretch, which then begins a stretch later."""
        shift = self.stretch
        high, bend = self.high + shift + 3, self.bend + 2 * shift
        return Plan(self.rows, self.m + shift[:, None], self.v, high, 0.7 * self.h, self.stretch, bend)

    def snapped(self) -> "tuple[Plan, Int[Tensor, ' e']]":
        """A few kinds of grids, and the kind of each element: step, bend and range are moved outward, by 1.4 at most.

        The grid of an element then depends on that element alone, and so does its result, whatever the other elements
        of its block.
        """
        step = torch.floor(2 * torch.log2(self.h))
        h = 2 ** (step / 2)
        bends = torch.ceil(2 * torch.log2(torch.relu(self.bend / h) + 10))
        range_ = torch.ceil(2 * torch.log2(self.high))
        kind = ((step * KINDS + bends) * KINDS + range_).long()
        bend, high = h * (2 ** (bends / 2) - 10), 2 ** (range_ / 2)
        return Plan(self.rows, self.m, self.v, high, h, STRETCH * h, bend), kind

    def grid(self) -> tuple[float, Float[Tensor, " s"], Float[Tensor, " s"]]:
        """Step, nodes and weights for elements of one kind: a trapezoid in t, s = t + a exp((t - bend)/a)      (3.7)

        The tail exp(-s) becomes a double exponential: 25 units of it cost about 20 steps, not 90.
        """
        h, a, bend, high = (float(part[0]) for part in (self.h, self.stretch, self.bend, self.high))
        first, last = unstretch(0.0, bend, a), unstretch(high, bend, a)
        t = torch.arange(first, last + h, h, dtype=self.m.dtype, device=self.m.device)
        stretch = torch.exp((t - bend) / a)
        return h, t + a * stretch, h * (1 + stretch)


def unstretch(s: float, bend: float, a: float) -> float:
    """t of (3.7) by Newton's iteration, which is monotone from the right."""
    t = min(s, bend + a * log(max(1.0, (s - bend) / a)))
    for _ in range(20):
        stretch = exp((t - bend) / a)
        t -= (t + a * stretch - s) / (1 + stretch)
    return t


def plan(m: Float[Tensor, "e c"], v: Float[Tensor, "e c"], epsilon: float) -> Plan:
    """Range, step and bend of every element for an error of about epsilon."""
    sd, log_epsilon, log_classes = v.sqrt(), log(epsilon), log(m.shape[1])
    z = sqrt(-2 * log_epsilon)
    low = (m - z * sd).amax(1) - log(-1.2 * log_epsilon)
    right = (m + (1 + sqrt(2 * log_classes)) * sd).amax(1) + 1 + log_classes
    position, probes = torch.linspace(0, 1, PROBES, dtype=m.dtype, device=m.device), []
    for _ in range(ZOOMS):
        s = low[:, None] + (right - low)[:, None] * position
        log_P, hazard, curvature = laplace(s, m, v)
        probes.append((s, step(log_P + torch.log(hazard), curvature, log_epsilon)))
        low, right = bracket(s, log_P + 2 * torch.log1p(hazard) < log_epsilon)
    s, local = (torch.cat(parts, dim=1) for parts in zip(*probes, strict=True))
    h = torch.clamp(local.amin(1), min=strip_step(STRIP * epsilon))
    room = torch.relu(local - h[:, None])
    bend = (s - STRETCH * room).amax(1) + OFFSET * h
    high = (m + reach(sd, epsilon / m.shape[1])).amax(1)
    rows = torch.arange(len(m), device=m.device)
    return Plan(rows, m - low[:, None], v, high - low, h, STRETCH * h, bend - low)


def reach(sd: Tensor, epsilon: float) -> Tensor:
    """x with 1 - L(m + x) <= E min(1, exp(f - s)) <= 2 epsilon: z sd, or (v + z^2)/2 where sd < z.

    z^2 = 2 log(1/epsilon): the Gaussian tail of f, or the exponential tail of G.
    """
    z = sqrt(-2 * log(epsilon))
    return torch.where(sd >= z, z * sd, (sd**2 + z * z) / 2)


def laplace(s: Probes, m: Float[Tensor, "e c"], v: Float[Tensor, "e c"]) -> tuple[Probes, Probes, Probes]:
    """(3.5) summed over the classes: log P, P'/P and -(log P)'' at the probes s."""
    v = torch.clamp(v, min=1e-30)[:, :, None]  # the limit v -> 0 is regular: w/v -> exp(m - s)
    w = lambert(torch.log(v) + m[:, :, None] - s[:, None, :])
    ratio = w / v
    log_L = (w + 2).mul_(ratio).add_(torch.log1p(w))
    return -0.5 * log_L.sum(1), ratio.sum(1), ratio.div_(w.add_(1)).sum(1)


def lambert(y: Tensor) -> Tensor:
    """w with w + log w = y to 2 %, enough to steer: t (1 - log(1 + t)/(2 + t)), t = log(1 + e^y)."""
    t = torch.nn.functional.softplus(y)
    return t * (1 - torch.log1p(t) / (2 + t))


def bracket(s: Probes, below: Bool[Tensor, "e k"]) -> tuple[Float[Tensor, " e"], Float[Tensor, " e"]]:
    """The last probe up to which all probes are below, and the probe two places further on."""
    index = torch.clamp(below.cumprod(1).sum(1) - 1, 0, s.shape[1] - 3)[:, None]
    return s.gather(1, index).squeeze(1), s.gather(1, index + 2).squeeze(1)


def step(log_slope: Probes, curvature: Probes, log_epsilon: float) -> Probes:
    """h = SAFETY sqrt(2 pi^2 / (c (log(1/epsilon) + log P'))),  c = -(log P)''      (3.6)

    Near s the integrand is a Gaussian of variance 1/c, on which a trapezoid errs by exp(-2 pi^2/(c h^2)).
    """
    return SAFETY * pi * torch.sqrt(2 / (curvature * torch.clamp(log_slope - log_epsilon, min=1)))


def strip_step(epsilon: float) -> float:
    """A step that serves any m and v: the integrands are analytic in |Im s| < pi/2, and v = 0 is the worst
    case, with an error of |Gamma(3 + i w)|/8 ~ 0.3 w^2.5 exp(-pi w/2) at w = 2 pi/h."""
    w = 10.0
    for _ in range(30):
        w = 2 / pi * log(0.3 * w**2.5 / epsilon)
    return 2 * pi / w
