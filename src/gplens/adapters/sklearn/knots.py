"""Transformers with knots: splines, and interpolation between quantiles."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.preprocessing import QuantileTransformer, SplineTransformer
from torch import Tensor

from gplens.adapters.sklearn.plans import Branch, Encoded, StepPlan, plan_of, tensor, transformed
from gplens.processes.crossings import Levels
from gplens.processes.smooth_map import MapJet, SmoothMap

ENDS = 1e-7
"""QuantileTransformer keeps probabilities this far from 0 and 1 before it takes normal quantiles of them."""


@plan_of.register
def _(step: QuantileTransformer, features: int) -> StepPlan:
    """Interpolation between quantiles. A column with repeated quantiles has jumps, so its outputs are coordinates."""
    quantiles = np.asarray(step.quantiles_, np.float64)
    rising = [bool((np.diff(column) > 0).all()) for column in quantiles.T]
    branches = [
        Branch(
            (k,), (k,), StepPlan.smooth(_interpolated(quantiles[:, k], step)) if rising[k] else _jumps(step, k), _whole
        )
        for k in range(features)
    ]
    return StepPlan.side_by_side(features, features, branches)


def _whole(X: Any) -> Any:
    return X


def _jumps(step: QuantileTransformer, k: int) -> StepPlan:
    """Column k of the host's output for the whole table."""
    encoded = Encoded((0,), lambda X: transformed(step, X)[:, [k]], type(step).__name__)
    return StepPlan(1, (), (encoded,), SmoothMap.columns(1))


def _interpolated(quantiles: Any, step: QuantileTransformer) -> SmoothMap:
    """Interpolation between the first and last quantile, constant beyond; then normal quantiles if requested."""
    knots, heights = tensor(quantiles), tensor(step.references_)
    rates = heights.diff() / knots.diff()

    def function(x: Float[Tensor, "k 1"]) -> tuple[Float[Tensor, "k 1"], Float[Tensor, "k 1"]]:
        i = (torch.searchsorted(knots, x.contiguous(), right=True) - 1).clamp(0, len(rates) - 1)
        inside = (x >= knots[0]) & (x <= knots[-1])
        bounded = x.clamp(float(knots[0]), float(knots[-1]))
        return heights[i] + rates[i] * (bounded - knots[i]), rates[i] * inside

    uniform = SmoothMap.elementwise(1, function, Levels(lambda x: x, (knots,)))
    if step.output_distribution == "uniform":
        return uniform
    end = ENDS - np.spacing(1)

    def normal(p: Float[Tensor, "k 1"]) -> tuple[Float[Tensor, "k 1"], Float[Tensor, "k 1"]]:
        z = torch.special.ndtri(p.clamp(end, 1 - end))
        return z, (2 * torch.pi) ** 0.5 * torch.exp(z**2 / 2) * ((p > end) & (p < 1 - end))

    steep = end * 4.0 ** torch.arange(12, dtype=torch.float64)  # the slope grows as 1/p
    cuts = torch.cat([steep, (1 - steep).flip(0)])
    return uniform.then(SmoothMap.elementwise(1, normal, Levels(lambda p: p, (cuts,))))


@plan_of.register
def _(step: SplineTransformer, features: int) -> StepPlan:
    """B-splines of each column. Splines of degree 0 are steps, whose outputs are coordinates."""
    splines = step.bsplines_[0].c.shape[1]
    count = splines if step.include_bias else splines - 1  # the last one of each column is left out
    outputs = [range(k * count, (k + 1) * count) for k in range(features)]
    if step.degree == 0:
        return StepPlan.of_encoder(features, [k for k in range(features) for _ in range(count)], step)
    branches = [
        Branch((k,), outputs[k], StepPlan.smooth(_spline(step.bsplines_[k], step.extrapolation, count)), _whole)
        for k in range(features)
    ]
    return StepPlan.side_by_side(features, features * count, branches)


def _spline(spline: Any, extrapolation: str, count: int) -> SmoothMap:
    """The first `count` B-splines of one column, continued beyond the outermost knots as `extrapolation` says."""
    knots = np.unique(spline.t[spline.k : len(spline.t) - spline.k])
    low, high = knots[0], knots[-1]

    def at(x: Float[Tensor, "k 1"]) -> MapJet:
        given = x[:, 0].numpy()
        if extrapolation == "periodic":
            inside = low + (given - low) % (high - low)
        elif extrapolation == "error" and bool(((given < low) | (given > high)).any()):
            raise ValueError(
                f"expected a path within the knots of SplineTransformer(extrapolation='error'), {low:.6g} to "
                f"{high:.6g}, got {given[(given < low) | (given > high)][0]:.6g}; fit it with another extrapolation."
            )
        else:
            inside = given if extrapolation == "continue" else given.clip(low, high)
        values, slopes = spline(inside)[:, :count], spline(inside, nu=1)[:, :count]
        if extrapolation == "linear":
            values = values + (given - inside)[:, None] * slopes
        elif extrapolation == "constant":
            slopes = slopes * (given == inside)[:, None]
        rates = torch.as_tensor(slopes)
        return MapJet(torch.as_tensor(values), lambda G: (G * rates[:, None]).sum(2, keepdim=True))

    if extrapolation == "periodic":
        phase, zero = torch.pi / (high - low), torch.zeros(1, dtype=torch.float64)
        places = tensor(knots[:-1])
        levels = Levels(lambda x: torch.sin(phase * (x - places)), (zero,) * len(places))
    else:
        levels = Levels(lambda x: x, (tensor(knots),))
    return SmoothMap(at, torch.ones(1, count, dtype=torch.bool), levels)
