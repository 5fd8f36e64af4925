"""The softplus: positive parameters and rates."""

from dataclasses import dataclass
from math import pi, sqrt
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link, Moments, PairMoments, beside_a_step
from gplens.lines.shapes import Batch
from gplens.links.moments.hermite import expect_pairs
from gplens.links.moments.logistic import expect, terms


@final
@dataclass(frozen=True)
class Softplus(Link):
    """g = log(1 + e^f), g' the sigmoid:  E g, E g', E g'' by (2.6) and (2.7).

    Error 1e-12 max(1, E g) in float64 for v >= 0 (checked to v = 400, |m| = 100). About 50 nodes per element,
    in blocks. No threshold: torch's own softplus is f for f > 20, which is off by 2e-9.
    """

    def __call__(self, f: Batch) -> Batch:
        """g = log(1 + e^f)."""
        return softplus(f)

    def moments(self, m: Batch, v: Batch) -> Moments:
        """E g, E g', E g''  (2.6), (2.7)."""
        return expect(m, v, at=softplus_at, sharp=positive_part_moments)

    def resolution(self, m: Batch, v: Batch) -> Batch:
        return beside_a_step(m, 1 + v)

    def derivative(self, f: Batch) -> Batch:
        return torch.sigmoid(f)

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """By the series (5.9) with the terms of `logistic.terms`: absolute error 1e-11, detached."""
        return expect_pairs(m, v, c, at=softplus_derivatives, count=terms(v))


def softplus(f: Batch) -> Batch:
    """log(1 + e^f) = max(f, 0) + log(1 + e^-|f|), which neither overflows nor cancels."""
    return torch.relu(f) + torch.log1p(torch.exp(-f.abs()))


def softplus_at(f: Batch) -> Moments:
    """softplus, s, s' = s(1 - s)  at points."""
    s = torch.sigmoid(f)
    return Moments(softplus(f), s, s * torch.sigmoid(-f))


def softplus_derivatives(f: Float[Tensor, "e n"]) -> Float[Tensor, "3 e n"]:
    """s,  s' = s(1 - s),  s'' = s'(1 - 2s)  at points."""
    s = torch.sigmoid(f)
    slope = s * torch.sigmoid(-f)
    return torch.stack([s, slope, slope * (1 - 2 * s)])


def positive_part_moments(a: Float[Tensor, "b q"], sd: Float[Tensor, "b 1"]) -> Moments:
    """max(f, 0) under N(a, sd^2), u = a/sd:  a Phi(u) + sd N(u),  Phi(u),  N(u)/sd  (2.7b)."""
    u = a / sd
    density = torch.exp(-(u**2) / 2) / sqrt(2 * pi)
    cdf = torch.special.ndtr(u)
    return Moments(a * cdf + sd * density, cdf, density / sd)
