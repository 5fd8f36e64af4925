"""The default rule: refine by order, then by panels, only where a path needs it (MATH 4.9)."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.paths.integrand import Integral, Integrand, PanelSums, Rule, joined_sums
from gplens.paths.panels import LAST, Panels, gain, ratio

REACHES = {4: 1.25, 5: 1.75, 7: 3.0}
"""Gauss nodes of the first attempt at a panel, and the panel length in lengthscales up to which they suffice for a
tolerance of 1e-6; other tolerances scale it by the order of the error, tolerance^(1/2n). Recipe: benchmarks/blocks.py
prints the nodes that are used."""
ROUGH = 0.4
"""The part of the first two lengths that holds for kernels that are not analytic."""
RESTARTS = 3
"""How often a path whose attributions do not add up starts again: four times the panels, a tenth of the tolerance."""
STALLED = 4
"""Rounds in a row that reduce the error by less than a third, after which the rest is taken to be rounding."""


@final
@dataclass(frozen=True)
class Adaptive(Rule):
    """Gauss-Kronrod on panels, until the estimated error of every feature of every path is within the tolerance (4.9).

    The error of a panel is |Kronrod - Gauss|, which is that of the lower rule, times the gain of the higher one (4.9a).
    The first panels are at most `reach` lengthscales long, so that kernels with formulas have no bump between nodes.
    """

    adaptive: ClassVar[bool] = True
    reach: float = 3.0
    panels: int = 4096
    """The most panels of a path in one round. A path that needs more is reported as not converged."""

    def __post_init__(self) -> None:
        if not (self.reach > 0 and self.panels >= 1):
            raise ValueError(f"Adaptive: expected reach > 0 and panels >= 1, got {self.reach} and {self.panels}.")

    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """Refine all paths, then repeat those that seem settled but whose attributions do not add up (4.4)."""
        rows = torch.arange(integrand.rows)
        panels = (integrand.length / self.reach).ceil().clamp(1, self.panels).long()
        sums, finer = _Refinement(integrand, tolerance, self.panels, rows, panels).run(), tolerance
        within, adds_up = _judge(integrand, sums, tolerance)
        for _ in range(RESTARTS):
            missed = within & ~adds_up
            if not missed.any():
                break
            panels, finer = (4 * panels).clamp(max=self.panels), finer / 10
            again = _Refinement(integrand, finer, self.panels, rows[missed], panels[missed]).run()
            sums = sums.replaced(missed, again)
            within, adds_up = _judge(integrand, sums, tolerance)
        gap = (sums.values.sum(2) - integrand.change).abs() - integrand.gap_floor  # the features miss as much together
        error = torch.maximum(sums.error, gap.clamp(min=0)[..., None] * (sums.error > 0))
        return Integral(sums.values, error, sums.nodes, within & adds_up)


def allowed_error(
    integrand: Integrand, rows: Int[Tensor, " s"], values: Float[Tensor, "s o d"], tolerance: float
) -> Float[Tensor, "s o"]:
    """The tolerance times the larger of |T(x) - T(x0)| and the largest |attribution| (4.8), plus the target's floor."""
    largest = torch.maximum(integrand.change[rows].abs(), values.abs().amax(2))
    return tolerance * (largest + integrand.rounding[rows]) + integrand.floor


@final
@dataclass(frozen=True)
class _Sums:
    """Integrals of some paths, their estimated errors, and their numbers of nodes."""

    values: Float[Tensor, "b o d"]
    error: Float[Tensor, "b o d"]
    worst: Float[Tensor, "b o"]
    """The sum over panels of the largest error of a feature."""
    nodes: Int[Tensor, " b"]

    def replaced(self, rows: Bool[Tensor, " b"], again: "_Sums") -> "_Sums":
        """With some paths done again. Numbers of nodes add up."""
        return _Sums(
            self.values.index_put((rows,), again.values),
            self.error.index_put((rows,), again.error),
            self.worst.index_put((rows,), again.worst),
            self.nodes.index_put((rows,), again.nodes, accumulate=True),
        )


def _judge(integrand: Integrand, sums: _Sums, tolerance: float) -> tuple[Bool[Tensor, " b"], Bool[Tensor, " b"]]:
    """Whether the estimated errors are within the tolerance (4.9), and whether the attributions add up (4.4)."""
    limit = allowed_error(integrand, torch.arange(integrand.rows), sums.values, tolerance)
    gap = (sums.values.sum(2) - integrand.change).abs()
    return (sums.worst <= limit).all(1), (gap <= limit + integrand.gap_floor).all(1)


class _Refinement:
    """The refinement of the paths `rows`: sums over the panels that are settled, and the panels that are pending."""

    def __init__(
        self,
        integrand: Integrand,
        tolerance: float,
        most: int,
        rows: Int[Tensor, " b"],
        panels: Int[Tensor, " b"],
    ) -> None:
        self.integrand, self.tolerance, self.most, self.rows = integrand, tolerance, most, rows
        self.pending = Panels.equal(panels) if integrand.kinked else Panels.cut(panels, integrand.kinks[rows])
        self.values: Tensor | None = None
        self.error: Tensor | None = None
        self.worst: Tensor | None = None
        self.nodes = torch.zeros(len(rows), dtype=torch.long)
        self.excess = torch.full((len(rows),), torch.inf, dtype=torch.float64)
        self.stalled = torch.zeros(len(rows), dtype=torch.long)

    def run(self) -> _Sums:
        """Rounds until no panel is left that could be improved."""
        order = self._first_order()
        while len(self.pending.owner):
            unsettled = self._settle(self._evaluate_pending(order))
            self.pending, order = self.pending.take(unsettled).refined(order[unsettled])
        assert self.values is not None
        assert self.error is not None
        assert self.worst is not None
        return _Sums(self.values, self.error, self.worst, self.nodes)

    def _first_order(self) -> Int[Tensor, " s"]:
        """Fewer nodes for shorter panels and larger tolerances; a kink may hide from the fewest."""
        if self.integrand.kinked:
            return torch.full_like(self.pending.owner, 7)
        length = self.integrand.length[self.rows[self.pending.owner]] * self.pending.width
        limits = [reach * (self.tolerance / 1e-6) ** (0.5 / order) for order, reach in REACHES.items()]
        if not self.integrand.smooth:
            limits = [ROUGH * limit for limit in limits[:-1]] + limits[-1:]
        return torch.tensor([*REACHES, LAST])[torch.bucketize(length, length.new_tensor(limits))]

    def _evaluate_pending(self, order: Int[Tensor, " s"]) -> PanelSums:
        """All pending panels, those of the same order together."""
        orders = order.unique().tolist()
        if len(orders) == 1:
            return self._evaluate(self.pending, orders[0])
        masks = [order == nodes for nodes in orders]
        parts = [self._evaluate(self.pending.take(mask), nodes) for nodes, mask in zip(orders, masks, strict=True)]
        back = torch.cat([mask.nonzero()[:, 0] for mask in masks]).argsort()
        return joined_sums(parts, back)

    def _evaluate(self, panels: Panels, order: int) -> PanelSums:
        self.nodes.index_add_(0, panels.owner, torch.full_like(panels.owner, 2 * order + 1))
        return self.integrand.panel_sums(panels, self.rows[panels.owner], order, self.tolerance)

    def _settle(self, sums: PanelSums) -> Bool[Tensor, " s"]:
        """Add up the panels that are within their share of the tolerance; return which are not."""
        values, total = sums.values, self._added(self.values, sums.values)
        error = sums.error if sums.difference is None else sums.error * self._gain(total, sums)[..., None]
        limit, worst = allowed_error(self.integrand, self.rows, total, self.tolerance), error.amax(2)
        excess = ratio(self._added(self.worst, worst), limit).amax(1)
        share = limit[self.pending.owner] * self.pending.width[:, None]
        unsettled = (worst > share).any(1) & self._may_go_on(excess)[self.pending.owner]
        if not unsettled.any():
            self.values, self.error = total, self._added(self.error, error)
            self.worst = self._added(self.worst, worst)
            return unsettled
        done = ~unsettled
        self.values, self.error = self._added(self.values, values, done), self._added(self.error, error, done)
        self.worst = self._added(self.worst, worst, done)
        return unsettled

    def _added(self, settled: Tensor | None, pending: Tensor, chosen: Bool[Tensor, " s"] | None = None) -> Tensor:
        """The sums of the paths with those of all pending panels, or of the chosen ones, added."""
        owner = self.pending.owner
        if settled is None and chosen is None and len(owner) == len(self.rows):
            return pending  # one panel for each path
        if settled is None:
            settled = pending.new_zeros(len(self.rows), *pending.shape[1:])
        if chosen is None:
            return settled.index_add(0, owner, pending)
        return settled.index_add(0, owner[chosen], pending[chosen])

    def _gain(self, total: Float[Tensor, "b o d"], sums: PanelSums) -> Float[Tensor, "s o"]:
        """How much closer Kronrod's sums are than Gauss's to what the attributions have to add up to  (4.9a)."""
        owner, change = self.pending.owner, self.integrand.change[self.rows]
        assert sums.difference is not None
        if not bool(self.integrand.gap_floor.isfinite().all()):
            return torch.ones_like(sums.difference)  # a named approximation does not add up
        kronrod, zero = total.sum(2) - change, torch.zeros_like(change)
        gauss = kronrod - zero.index_add(0, owner, sums.difference)
        scale = total.abs().amax(2)  # in units of it squares neither overflow nor vanish
        squares = (sums.error / scale[owner][..., None]).square().sum(2)
        possible = scale * zero.index_add(0, owner, squares).sqrt()
        part = gain(kronrod.abs(), gauss.abs(), possible, smooth=self.integrand.smooth)[owner]
        return part if sums.steep is None else torch.where(sums.steep[:, None], 1.0, part)

    def _may_go_on(self, excess: Float[Tensor, " b"]) -> Bool[Tensor, " b"]:
        """Paths that miss the tolerance, still gain by refinement, and have panels left."""
        self.stalled = torch.where(excess > self.excess * 2 / 3, self.stalled + 1, 0)
        self.excess = excess
        count = torch.bincount(self.pending.owner, minlength=len(self.rows))
        return (excess > 1) & (self.stalled < STALLED) & (count < self.most)
