"""The average over the baselines of an input, refined only where it misses the tolerance (MATH 4.12)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.lines.units import power_of_two
from gplens.paths.integrals import Attribution, Integral

TIGHTENINGS = 3
"""How often paths are integrated again with a smaller tolerance, if they cancel in their average."""
SMALLEST = 1e-14
"""The smallest tolerance of a path."""
Integrate = Callable[[Int[Tensor, " k"] | slice, float], Attribution]
"""A function that integrates some paths to a tolerance."""


@final
@dataclass(frozen=True, eq=False)
class Background:
    """How the attributions of an input relative to several baselines are averaged."""

    shares: Float[Tensor, " s"] | None = None
    """The weight of each baseline in the average, adding up to one; None if all have the same weight."""
    sets: Sequence[Sequence[int]] | None = None
    """Sets of features for whose sums deviations are computed; None for single features."""

    def mean(self, paths: Float[Tensor, "b s ..."]) -> Float[Tensor, "b ..."]:
        """The average over the baselines."""
        return paths.mean(1) if self.shares is None else torch.einsum("s,bs...->b...", self.shares, paths)

    def summed(self, values: Float[Tensor, "*rows d"]) -> Float[Tensor, "*rows g"]:
        """Sums over the sets."""
        if self.sets is None:
            return values
        return torch.stack([values[..., list(members)].sum(-1) for members in self.sets], dim=-1)

    def deviation(self, values: Float[Tensor, "b s o d"]) -> Float[Tensor, "b o g"]:
        """The standard deviation over the baselines (4.12)."""
        values = self.summed(values)
        unit = power_of_two(values.abs().amax((1, 2, 3), keepdim=True))  # squares of small numbers vanish
        scaled = values / unit
        return unit[:, 0] * self.mean((scaled - self.mean(scaled)[:, None]).square()).sqrt()

    def root_of_squares(self, paths: Float[Tensor, "b s ..."]) -> Float[Tensor, "b ..."]:
        """The size of the average of independent errors with the given sizes."""
        return (self.shares_of(paths) * paths).square().sum(1).sqrt()

    def shares_of(self, paths: Float[Tensor, "b s ..."]) -> Float[Tensor, "1 s ..."]:
        """The share of each baseline, along the second axis of a tensor."""
        s, axes = paths.shape[1], [1] * (paths.ndim - 2)
        shares = paths.new_full((s,), 1 / s) if self.shares is None else self.shares
        return shares.view(1, s, *axes)


def averaged(
    integrate: Integrate, baselines: int, background: Background, tolerance: float, *, refine: bool
) -> Attribution:
    """The averages over the baselines of each input; the paths of one input are consecutive.

    Paths may cancel in an average, which is then smaller than each of them. Where an average misses the tolerance, the
    paths with the largest errors are integrated again.
    """
    paths = integrate(slice(None), tolerance)
    average = _average(paths, baselines, background)
    factor = torch.ones(len(average.end), dtype=torch.float64)
    for _ in range(TIGHTENINGS if refine else 0):
        excess = _excess(average, tolerance)
        if excess is None or float(excess.max()) <= 1:
            break
        factor = torch.where(excess > 1, 2 * factor * 2 ** excess.log2().ceil(), factor)
        chosen = _mattering(paths, average, excess > 1, background, tolerance)
        paths = _again(integrate, paths, chosen, factor, tolerance)
        average = _average(paths, baselines, background)
    excess, integral = _excess(average, tolerance), average.integral
    if excess is None or integral.converged is None:
        return average
    return replace(average, integral=replace(integral, converged=integral.converged & (excess <= 1)))


def _again(
    integrate: Integrate,
    paths: Attribution,
    chosen: Bool[Tensor, "b s"],
    factor: Float[Tensor, " b"],
    tolerance: float,
) -> Attribution:
    """Integrate the chosen paths of each input with the tolerance divided by the input's factor, a power of two."""
    factors = torch.where(chosen, factor[:, None], 1.0).flatten()
    for value in factors[factors > 1].unique().tolist():
        rows = factors == value
        again = integrate(rows.nonzero()[:, 0], max(tolerance / value, SMALLEST))
        reached = paths.integral.converged  # the requested tolerance; `error` tells how much better the paths are now
        paths = paths.replaced(rows, again)
        if reached is not None and paths.integral.converged is not None:
            paths = replace(paths, integral=replace(paths.integral, converged=reached | paths.integral.converged))
    return paths


def _mattering(
    paths: Attribution, average: Attribution, missed: Bool[Tensor, " b"], background: Background, tolerance: float
) -> Bool[Tensor, "b s"]:
    """For averages that miss the tolerance, the paths with the largest errors, so that the others leave half of it."""
    error, estimate = (part.unflatten(0, (len(missed), -1)) for part in _errors(paths.integral))
    shares = background.shares_of(error) / (tolerance * average.largest()[:, None, :, None])
    part = torch.maximum(shares * estimate, (shares * error).square()).nan_to_num(nan=0.0).amax((2, 3))
    ordered, order = part.sort(dim=1)
    left = (ordered.cumsum(1) <= 1 / 2).gather(1, order.argsort(1))
    return missed[:, None] & ~left


def _average(paths: Attribution, s: int, background: Background) -> Attribution:
    """The mean over the s baselines of each input, and the standard deviation over them (4.12).

    Estimated errors are added up, as they may have the same sign. The safety margins that stated errors have beyond
    the estimates are treated as independent.
    """

    def by_input(tensor: Tensor) -> Tensor:
        return tensor.unflatten(0, (-1, s))

    integral, mean, error = paths.integral, background.mean, None
    if integral.error is not None:
        stated, estimate = (by_input(part) for part in _errors(integral))
        error = torch.maximum(mean(estimate), background.root_of_squares(stated))
    values = by_input(integral.values)
    converged = None if integral.converged is None else by_input(integral.converged).all(1)
    whole = Integral(mean(values), error, by_input(integral.nodes).sum(1), converged)
    start, end = (mean(by_input(target)) for target in (paths.start, paths.end))
    return Attribution(whole, start, end, background_std=background.deviation(values))


def _errors(integral: Integral) -> tuple[Float[Tensor, "b o d"], Float[Tensor, "b o d"]]:
    """The stated errors and the estimates behind them."""
    assert integral.error is not None
    return integral.error, integral.error if integral.estimate is None else integral.estimate


def _excess(attribution: Attribution, tolerance: float) -> Float[Tensor, " b"] | None:
    """The largest error of each input relative to the allowed error; None without an error estimate."""
    if attribution.integral.error is None:
        return None
    ratio = attribution.integral.error / (tolerance * attribution.largest()[..., None])
    return ratio.nan_to_num(nan=0.0, posinf=torch.inf).flatten(1).amax(1)
