"""The sigmoid of logistic classification, exact, and the paper's Taylor expansion of it, a named approximation."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link, Moments, PairMoments, beside_a_step
from gplens.expectations.normal import cdf, density
from gplens.lines.shapes import Batch
from gplens.links.moments.hermite import expect_pairs
from gplens.links.moments.logistic import LogisticLink, expect, reach, terms


@final
@dataclass(frozen=True)
class Sigmoid(Link):
    """g = 1/(1 + e^-f):  E g, E g', E g'' by (2.6) and (2.7).

    Error 5e-12 in float64 for v >= 0 (checked to v = 400, |m| = 600), relative to E g, E g' and E|g''| at -|m|, however
    small. About 50 nodes per element, in blocks.

    Example:
        >>> gplens.links.Sigmoid().moments(torch.zeros(1).double(), torch.ones(1).double()).value.item()
        0.5
    """

    def __call__(self, f: Batch) -> Batch:
        """g = 1/(1 + e^-f)."""
        return torch.sigmoid(f)

    def moments(self, m: Batch, v: Batch) -> Moments:
        """E g, E g', E g''  (2.6), (2.7)."""
        return expect(m, v, SIGMOID)

    def resolution(self, m: Batch, v: Batch) -> Batch:
        return beside_a_step(m, 1 + v)

    def derivative(self, f: Batch) -> Batch:
        """s' = s(1 - s)."""
        return sigmoid_at(f).slope

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """By the series (5.9) with the terms of `logistic.terms`: error 1e-11 sqrt(E g^(i)^2 E g^(j)^2), detached."""
        return self.scaled_pair_moments(m, v, c, m.new_ones(len(m)))

    def scaled_pair_moments(
        self,
        m: Float[Tensor, "b q"],
        v: Float[Tensor, "b q"],
        c: Float[Tensor, "b q q"],
        unit: Float[Tensor, " b"],
    ) -> PairMoments:
        return expect_pairs(m, v, c, at=sigmoid_derivatives, count=terms(v), reach=reach(m, v), unit=unit)


def sigmoid_at(f: Batch) -> Moments:
    """s,  s' = s(1 - s),  s'' = s'(1 - 2s)  at points; 1 - s taken as s(-f), which does not cancel."""
    s = torch.sigmoid(f)
    slope = s * torch.sigmoid(-f)
    return Moments(s, slope, slope * (1 - 2 * s))


def sigmoid_moments(f: Float[Tensor, "b q"]) -> Moments:
    """The same at points below 700, with a single exponential:  r = 1/(1 + e^f),  s = e^f r,  s' = s r."""
    e = torch.exp(f)
    r = 1 / (1 + e)
    s = e * r
    slope = s * r
    return Moments(s, slope, slope * (r - s))


def sigmoid_derivatives(f: Float[Tensor, "e n"]) -> Float[Tensor, "3 e n"]:
    """s',  s'' = s'(1 - 2s),  s''' = s'(1 - 6s')  at points."""
    _, slope, curvature = sigmoid_at(f)
    return torch.stack([slope, curvature, slope * (1 - 6 * slope)])


def step_moments(a: Float[Tensor, "b q"], sd: Float[Tensor, "b 1"]) -> Moments:
    """The step 1[f > 0] under N(a, sd^2), u = a/sd:  Phi(u),  N(u)/sd,  -u N(u)/sd^2  (2.7a)."""
    u = a / sd
    slope = density(u) / sd
    return Moments(cdf(u), slope, -u / sd * slope)


def tilted_step(a: Float[Tensor, "b q"], sd: Float[Tensor, "b 1"]) -> Moments:
    """s = e^f h, h = s(-f):  s' = e^f (h + h'),  s'' = e^f (h + 2h' + h''), each with the step for s(-f)  (2.7d)."""
    h, slope, curvature = step_moments(a, sd)
    return Moments(h, h - slope, h - 2 * slope + curvature)


def reflected_sigmoid(m: Float[Tensor, " b"], at_minus_m: Moments) -> Moments:
    """s(f) = 1 - s(-f)  (2.7c)."""
    value, slope, curvature = at_minus_m
    return Moments(1 - value, slope, -curvature)


SIGMOID = LogisticLink(sigmoid_moments, step_moments, tilted_step, reflected_sigmoid)


@final
@dataclass(frozen=True)
class SigmoidTaylor(Link):
    """slope ~ s'(m) + v/2 s'''(m),  curvature ~ s''(m)  (2.8), so that the gradient is the paper's

        psi_m m_k + psi_v v_k = s' m_k + v/2 s''' m_k + c_k s'',    psi_v = s''/2,  c_k = v_k/2.

    `value` is the exact E s(f): the completeness gap is what the expansion costs. Its error is O(v^2) in
    the slope, O(v) in the curvature, without bound as v grows. Use `Sigmoid` for anything but comparison.

    Example:
        >>> e = gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.SigmoidTaylor())
        >>> float(e.gap.abs()) > 1e-9  # what the expansion costs
        True
    """

    exact = False
    """False: slope and curvature are not the derivatives of `value`."""

    def __call__(self, f: Batch) -> Batch:
        """g = 1/(1 + e^-f)."""
        return torch.sigmoid(f)

    def moments(self, m: Batch, v: Batch) -> Moments:
        """E s(f) exactly;  s' + v/2 s''' and s'' at m  (2.8)."""
        value = Sigmoid().moments(m, v).value
        _, slope, curvature = sigmoid_at(m)
        third = slope * (1 - 6 * slope)  # s''' = s'(1 - 6 s')
        return Moments(value, slope + v / 2 * third, curvature)  # (2.8)

    def derivative(self, f: Batch) -> Batch:
        """s' = s(1 - s)."""
        return sigmoid_at(f).slope

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """Refused: the expansion approximates expected attributions, not their distribution."""
        raise NotImplementedError(
            "SigmoidTaylor has no pair moments: it approximates the expected attribution, not its distribution. "
            "Use links.Sigmoid(), which is exact, or leave uncertainty out."
        )
