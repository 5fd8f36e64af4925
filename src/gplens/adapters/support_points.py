"""Support points, and places between them, at which every comparison with a live model evaluates it.

Points of a call may be so far from all data that every kernel and all data predict the same there, and from each other,
so that k is zero between them, while their paths pass the data.
"""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import Compare
from gplens.lines.line import Line
from gplens.processes.mix import Mix
from gplens.processes.posterior import Posterior
from gplens.processes.process import Marginals, Process
from gplens.processes.stack import Stack

SUPPORT = 4
"""Support points, and points of the call, that are compared with a support point beside them."""


@final
@dataclass(frozen=True, eq=False)
class SupportSample:
    """The posteriors of a process, and some of their support points."""

    posteriors: tuple[Posterior, ...]
    pairs: Float[Tensor, "s d"]
    """Some support points, then for each one another at which k is near half of its largest value."""
    between: Float[Tensor, "h d"]
    """Half-way between these two, where predictions depend on the kernel, whatever the data; in the category of one."""

    @staticmethod
    def of(process: Process) -> "SupportSample | None":
        """None for a process that is not made of posteriors."""
        base = process.base if isinstance(process, Mix) else process
        parts = base.parts if isinstance(base, Stack) else (base,)
        posteriors = tuple(part for part in parts if isinstance(part, Posterior))
        if len(posteriors) < len(parts):
            return None
        chosen = _some(posteriors[0].Z)
        partners = _partners(posteriors, chosen)
        return SupportSample(posteriors, torch.cat([chosen, partners]), _half_way(process, chosen, partners))

    def beside(self, points: Float[Tensor, "k d"]) -> Float[Tensor, "s d"]:
        """Support points beside some of the points."""
        return _partners(self.posteriors, _some(points))


def beside_support(process: Process, compare: Compare) -> Compare:
    """`compare`, at the points of the call and between support points."""
    support = SupportSample.of(process)

    def compare_both(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        if support is not None:
            compare(support.between, process.along(Line.at(support.between)))
        return compare(points, at)

    return compare_both


def between_neighbours(process: Process, X: Float[Tensor, "n d"]) -> Float[Tensor, "h d"]:
    """Half-way from some of the training inputs of any process to their neighbours, in units of the columns' spread."""
    unit = (X - X.mean(0)).abs().mean(0)
    scaled = X / torch.where(unit > 0, unit, 1.0)
    chosen = torch.arange(len(X))[:: -(-len(X) // SUPPORT)]
    apart = torch.cdist(scaled[chosen], scaled)
    apart[apart == 0] = torch.inf
    return _half_way(process, X[chosen], X[apart.argmin(1)])


def _half_way(process: Process, a: Float[Tensor, "h d"], b: Float[Tensor, "h d"]) -> Float[Tensor, "h d"]:
    """Between a and b in numbers, at a in categories and rounded numbers."""
    middle, held = (a + b) / 2, [column for block in process.categories for column in block]
    middle[:, held] = a[:, held]
    middle[:, list(process.rounded)] = a[:, list(process.rounded)].round()
    return middle


def _some(points: Float[Tensor, "k d"]) -> Float[Tensor, "s d"]:
    """At most SUPPORT points, evenly spaced."""
    return points[:: -(-len(points) // SUPPORT)]


def _partners(posteriors: tuple[Posterior, ...], points: Float[Tensor, "s d"]) -> Float[Tensor, "s d"]:
    """For each point a support point of one of the posteriors, the one at which k is nearest to half of k(x, x)."""
    partners, c = torch.empty_like(points), len(posteriors)
    for i, posterior in enumerate(posteriors[: len(points)]):
        x = points[i::c]
        k = posterior.kernel.section(Line.at(x), posterior.support).values[:, 0]
        partners[i::c] = posterior.Z[(k / posterior.kernel.diagonal(x)[:, None] - 0.5).abs().argmin(1)]
    return partners
