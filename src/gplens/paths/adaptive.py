"""The default rule: refine by order, then by panels, only where a path needs it (MATH 4.9)."""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.paths.panels import LAST, Panels, gain, gauss_kronrod, ratio
from gplens.paths.rules import Integral, Integrand, Rule, allowed

REACHES = {4: 1.25, 5: 1.75, 7: 3.0}
"""Gauss nodes of the first look at a panel, and the lengthscales up to which they do for a tolerance of 1e-6; for
others by the order of the error, tolerance^(1/2n). Recipe: benchmarks/blocks.py prints the nodes that are used."""
SECOND_LOOKS = 3
"""How often a path whose attributions do not add up starts again: four times the panels, a tenth of the tolerance."""
STALLED = 4
"""Rounds in a row without a third less error after which what is left is rounding, which no node removes."""


@final
@dataclass(frozen=True)
class Adaptive(Rule):
    """Gauss-Kronrod on panels, until the estimated error of every feature of every path is within the tolerance (4.9).

    A panel's error is |Kronrod - Gauss|, which is that of the lower rule, times what the higher is seen to gain (4.9a).
    The first panels are at most `reach` lengthscales long, so that no bump of the kernel lies between nodes.
    """

    reach: float = 3.0
    panels: int = 4096
    """The most panels a path may be cut into in one round; then it is given up as not converged."""

    def __post_init__(self) -> None:
        if not (self.reach > 0 and self.panels >= 1):
            raise ValueError(f"Adaptive wants reach > 0 and panels >= 1; got {self.reach} and {self.panels}.")

    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """Refine all paths; look again at those that seem done, but whose attributions do not add up (4.4)."""
        rows = torch.arange(integrand.rows)
        first = (integrand.length / self.reach).ceil().clamp(1, self.panels).long()
        found, finer = _Refinement(integrand, tolerance, self.panels, rows, first).run(), tolerance
        within, adds_up = _judge(integrand, found, tolerance)
        for _ in range(SECOND_LOOKS):
            missed = within & ~adds_up
            if not missed.any():
                break
            first, finer = (4 * first).clamp(max=self.panels), finer / 10
            again = _Refinement(integrand, finer, self.panels, rows[missed], first[missed]).run()
            found = found.replaced(missed, again)
            within, adds_up = _judge(integrand, found, tolerance)
        return Integral(found.values, found.error, found.nodes, within & adds_up)


@final
@dataclass(frozen=True)
class _Found:
    """Integrals of some paths, their estimated errors, and what they cost."""

    values: Float[Tensor, "b o d"]
    error: Float[Tensor, "b o d"]
    worst: Float[Tensor, "b o"]
    """The sum over panels of the largest error of a feature."""
    nodes: Int[Tensor, " b"]

    def replaced(self, rows: Bool[Tensor, " b"], again: "_Found") -> "_Found":
        """Some of the paths done again."""
        used = self.nodes.clone()
        used[rows] += again.nodes
        values, error = self.values.index_put((rows,), again.values), self.error.index_put((rows,), again.error)
        return _Found(values, error, self.worst.index_put((rows,), again.worst), used)


def _judge(integrand: Integrand, found: _Found, tolerance: float) -> tuple[Bool[Tensor, " b"], Bool[Tensor, " b"]]:
    """Whether the estimated errors are as small as they should be (4.9), and whether the attributions add up (4.4)."""
    rows = torch.arange(integrand.rows)
    limit = allowed(integrand, rows, found.values, tolerance)
    gap = (found.values.sum(2) - integrand.change).abs()
    return (found.worst <= limit).all(1), (gap <= limit + integrand.gap_floor).all(1)


class _Refinement:
    """The state of a refinement: sums over the panels that are settled, for each path of `rows`."""

    def __init__(
        self,
        integrand: Integrand,
        tolerance: float,
        most: int,
        rows: Int[Tensor, " b"],
        first: Int[Tensor, " b"],
    ) -> None:
        self.integrand, self.tolerance, self.most, self.rows = integrand, tolerance, most, rows
        self.pending = Panels.equal(first)
        self.values: Tensor | None = None
        self.error: Tensor | None = None
        self.worst: Tensor | None = None
        self.nodes = torch.zeros(len(rows), dtype=torch.long)
        self.excess = torch.full((len(rows),), torch.inf, dtype=torch.float64)
        self.stalled = torch.zeros(len(rows), dtype=torch.long)

    def run(self) -> _Found:
        """Rounds until no panel is left that could be better."""
        order = self._first()
        while len(self.pending.owner):
            worse = self._settle(*self._look(order))
            self.pending, order = self.pending.take(worse).refined(order[worse])
        assert self.values is not None
        assert self.error is not None
        assert self.worst is not None
        return _Found(self.values, self.error, self.worst, self.nodes)

    def _first(self) -> Int[Tensor, " s"]:
        """Fewer nodes for shorter panels and larger tolerances."""
        length = self.integrand.length[self.rows[self.pending.owner]] * self.pending.width
        limits = [reach * (self.tolerance / 1e-6) ** (0.5 / order) for order, reach in REACHES.items()]
        return torch.tensor([*REACHES, LAST])[torch.bucketize(length, length.new_tensor(limits))]

    def _look(self, order: Int[Tensor, " s"]) -> tuple[Float[Tensor, "s o d"], Float[Tensor, "s o d"]]:
        """All pending panels, those of one order together."""
        kinds = order.unique().tolist()
        if len(kinds) == 1:
            return self._evaluate(self.pending, kinds[0])
        masks = [order == kind for kind in kinds]
        each = [self._evaluate(self.pending.take(mask), kind) for kind, mask in zip(kinds, masks, strict=True)]
        back = torch.cat([mask.nonzero()[:, 0] for mask in masks]).argsort()
        values, difference = (torch.cat(parts)[back] for parts in zip(*each, strict=True))
        return values, difference

    def _evaluate(self, panels: Panels, order: int) -> tuple[Float[Tensor, "s o d"], Float[Tensor, "s o d"]]:
        """Kronrod sums of panels and what they differ by from the Gauss sums."""
        t, w, gauss = gauss_kronrod(order)
        weights = torch.as_tensor(np.stack([w, w - gauss])) * panels.width[:, None, None]
        t = panels.start[:, None] + panels.width[:, None] * torch.as_tensor(t)
        found = self.integrand.sums(self.rows[panels.owner], t, weights)
        self.nodes.index_add_(0, panels.owner, torch.full_like(panels.owner, t.shape[1]))
        return found[:, 0], found[:, 1]

    def _settle(self, values: Float[Tensor, "s o d"], difference: Float[Tensor, "s o d"]) -> Bool[Tensor, " s"]:
        """Add up what is good enough, and say which panels are not: those above their share of the tolerance."""
        total = self._with(self.values, values)
        part = self._gain(total, difference.sum(2))[self.pending.owner]
        error = difference.abs_().mul_(part[..., None])
        limit, worst = allowed(self.integrand, self.rows, total, self.tolerance), error.amax(2)
        excess = ratio(self._with(self.worst, worst), limit).amax(1)
        share = limit[self.pending.owner] * self.pending.width[:, None]
        worse = (worst > share).any(1) & self._may_go_on(excess)[self.pending.owner]
        if not worse.any():
            self.values, self.error, self.worst = total, self._with(self.error, error), self._with(self.worst, worst)
            return worse
        done = ~worse
        self.values, self.error = self._with(self.values, values, done), self._with(self.error, error, done)
        self.worst = self._with(self.worst, worst, done)
        return worse

    def _with(self, settled: Tensor | None, own: Tensor, chosen: Bool[Tensor, " s"] | None = None) -> Tensor:
        """The sums of the paths with those of the pending panels, or of some of them, added."""
        owner = self.pending.owner
        if settled is None and chosen is None and len(owner) == len(self.rows):
            return own  # one panel for each path
        settled = own.new_zeros(len(self.rows), *own.shape[1:]) if settled is None else settled
        return settled.index_add(0, owner, own) if chosen is None else settled.index_add(0, owner[chosen], own[chosen])

    def _gain(self, total: Float[Tensor, "b o d"], difference: Float[Tensor, "s o"]) -> Float[Tensor, "b o"]:
        """How much nearer Kronrod's sums are than Gauss's to what the attributions add up to, with a margin  (4.9a)."""
        change = self.integrand.change[self.rows]
        if not bool(self.integrand.gap_floor.isfinite().all()):
            return torch.ones_like(change)  # a named approximation, which does not add up
        kronrod = total.sum(2) - change
        gauss = kronrod - torch.zeros_like(kronrod).index_add_(0, self.pending.owner, difference)
        return gain(kronrod.abs(), gauss.abs())

    def _may_go_on(self, excess: Float[Tensor, " b"]) -> Bool[Tensor, " b"]:
        """Paths that miss the tolerance, still gain by refinement, and have panels left."""
        self.stalled = torch.where(excess > self.excess * 2 / 3, self.stalled + 1, 0)
        self.excess = excess
        count = torch.bincount(self.pending.owner, minlength=len(self.rows))
        return (excess > 1) & (self.stalled < STALLED) & (count < self.most)
