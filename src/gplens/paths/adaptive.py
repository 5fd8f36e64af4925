"""The default rule: refine by order, then by panels, only where a path needs it (MATH 4.9)."""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.paths import nodes
from gplens.paths.rules import Integral, Integrand, Rule, allowed

ORDERS = (6, 7, 15)
"""Gauss nodes of the first look at a short panel, of the first look at a longer one, and of every later look."""
SHORT = 1.5
"""Lengthscales up to which a panel is short. Recipe: benchmarks/blocks.py prints the nodes that are used."""
SECOND_LOOKS = 3
"""How often a path whose attributions do not add up starts again: four times the panels, a tenth of the tolerance."""
STALLED = 4
"""Rounds in a row without a third less error after which what is left is rounding, which no node removes."""


@final
@dataclass(frozen=True)
class Adaptive(Rule):
    """Gauss-Kronrod on panels, until the estimated error of every feature of every path is within the tolerance (4.9).

    A panel's error is |Kronrod - Gauss|, which is the error of the lower rule: pessimistic on smooth paths.
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
        for _ in range(SECOND_LOOKS):
            missed = _does_not_add_up(integrand, found, tolerance) & _within(integrand, found, tolerance)
            first = (4 * first).clamp(max=self.panels)
            if not missed.any():
                break
            finer /= 10
            again = _Refinement(integrand, finer, self.panels, rows[missed], first[missed]).run()
            found = _replaced(found, missed, again)
        converged = _within(integrand, found, tolerance) & ~_does_not_add_up(integrand, found, tolerance)
        return Integral(found.values, found.error, found.nodes, converged)


@final
@dataclass(frozen=True)
class _Found:
    """Integrals of some paths, their estimated errors, and what they cost."""

    values: Float[Tensor, "b o d"]
    error: Float[Tensor, "b o d"]
    nodes: Int[Tensor, " b"]


def _within(integrand: Integrand, found: _Found, tolerance: float) -> Bool[Tensor, " b"]:
    """Whether the estimated errors are as small as they should be."""
    limit = allowed(integrand, torch.arange(integrand.rows), found.values, tolerance)
    return (found.error <= limit[..., None]).flatten(1).all(1)


def _does_not_add_up(integrand: Integrand, found: _Found, tolerance: float) -> Bool[Tensor, " b"]:
    gap = (found.values.sum(2) - integrand.change).abs()
    limit = allowed(integrand, torch.arange(integrand.rows), found.values, tolerance)
    return (gap > limit + integrand.gap_floor).any(1)


def _replaced(found: _Found, rows: Bool[Tensor, " b"], again: _Found) -> _Found:
    used = found.nodes.clone()
    used[rows] += again.nodes
    mask = rows[:, None, None]
    values, error = found.values.masked_scatter(mask, again.values), found.error.masked_scatter(mask, again.error)
    return _Found(values, error, used)


@dataclass
class _Panels:
    """Pieces [start, start + width] of paths, each with the index of its path."""

    owner: Int[Tensor, " s"]
    start: Float[Tensor, " s"]
    width: Float[Tensor, " s"]

    @staticmethod
    def equal(count: Int[Tensor, " b"]) -> "_Panels":
        owner = torch.repeat_interleave(torch.arange(len(count)), count)
        first = torch.repeat_interleave(count.cumsum(0) - count, count)
        width = 1 / count[owner].double()
        return _Panels(owner, (torch.arange(len(owner)) - first) * width, width)

    def take(self, mask: Bool[Tensor, " s"]) -> "_Panels":
        return _Panels(self.owner[mask], self.start[mask], self.width[mask])

    def halves(self) -> "_Panels":
        half = self.width / 2
        start = torch.stack([self.start, self.start + half], dim=1).flatten()
        return _Panels(self.owner.repeat_interleave(2), start, half.repeat_interleave(2))


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
        self.pending = _Panels.equal(first)
        shape = (len(rows), integrand.change.shape[1], 0)
        self.values: Tensor = torch.zeros(shape)
        self.error: Tensor = torch.zeros(shape)
        self.nodes = torch.zeros(len(rows), dtype=torch.long)
        self.excess = torch.full((len(rows),), torch.inf, dtype=integrand.change.dtype)
        self.stalled = torch.zeros(len(rows), dtype=torch.long)

    def run(self) -> _Found:
        """Rounds until no panel is left that could be better."""
        looks = 0
        while len(self.pending.owner):
            values, error = self._look() if looks == 0 else self._evaluate(self.pending, ORDERS[2])
            worse = self._settle(values, error)
            self.pending = self.pending.take(worse)
            if looks:
                self.pending = self.pending.halves()
            looks += 1
        return _Found(self.values, self.error, self.nodes)

    def _look(self) -> tuple[Float[Tensor, "s o d"], Float[Tensor, "s o d"]]:
        """The first look, with fewer nodes on short panels."""
        short = self.integrand.length[self.rows[self.pending.owner]] * self.pending.width <= SHORT
        if short.all() or not short.any():
            return self._evaluate(self.pending, ORDERS[0 if short.all() else 1])
        first = self._evaluate(self.pending.take(short), ORDERS[0])
        second = self._evaluate(self.pending.take(~short), ORDERS[1])
        back = torch.cat([short.nonzero(), (~short).nonzero()])[:, 0].argsort()
        return torch.cat([first[0], second[0]])[back], torch.cat([first[1], second[1]])[back]

    def _evaluate(self, panels: _Panels, order: int) -> tuple[Float[Tensor, "s o d"], Float[Tensor, "s o d"]]:
        """Kronrod sums of panels and their distance to the Gauss sums."""
        t, w, gauss = nodes.gauss_kronrod(order)
        weights = torch.as_tensor(np.stack([w, w - gauss])) * panels.width[:, None, None]
        t = panels.start[:, None] + panels.width[:, None] * torch.as_tensor(t)
        found = self.integrand.sums(self.rows[panels.owner], t, weights)
        self.nodes.index_add_(0, panels.owner, torch.full_like(panels.owner, t.shape[1]))
        return found[:, 0], found[:, 1].abs()

    def _settle(self, values: Float[Tensor, "s o d"], error: Float[Tensor, "s o d"]) -> Bool[Tensor, " s"]:
        """Add up what is good enough, and say which panels are not: those above their share of the tolerance."""
        if self.values.shape[2] == 0:
            self.values, self.error = (values.new_zeros(len(self.rows), *values.shape[1:]) for _ in range(2))
        owner = self.pending.owner
        all_values, all_error = self.values.index_add(0, owner, values), self.error.index_add(0, owner, error)
        share = self._limit(all_values)[owner] * self.pending.width[:, None]
        worse = (error > share[..., None]).flatten(1).any(1) & self._may_go_on(all_values, all_error)[owner]
        self.values.index_add_(0, owner[~worse], values[~worse])
        self.error.index_add_(0, owner[~worse], error[~worse])
        return worse

    def _may_go_on(self, values: Float[Tensor, "b o d"], error: Float[Tensor, "b o d"]) -> Bool[Tensor, " b"]:
        """Paths that miss the tolerance, still gain by refinement, and have panels left."""
        excess = self._excess(values, error)
        self.stalled = torch.where(excess > self.excess * 2 / 3, self.stalled + 1, 0)
        self.excess = excess
        count = torch.bincount(self.pending.owner, minlength=len(self.rows))
        return (excess > 1) & (self.stalled < STALLED) & (count < self.most)

    def _limit(self, values: Float[Tensor, "b o d"]) -> Float[Tensor, "b o"]:
        return allowed(self.integrand, self.rows, values, self.tolerance)

    def _excess(self, values: Float[Tensor, "b o d"], error: Float[Tensor, "b o d"]) -> Float[Tensor, " b"]:
        """The largest error of a path in units of what is allowed."""
        ratio = error / self._limit(values)[..., None]
        return ratio.nan_to_num(nan=0.0, posinf=torch.inf).flatten(1).amax(1)  # 0/0: nothing moves, no error
