"""The default rule: refine by order, then by panels, only where a path needs it (MATH 4.9)."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.paths.integrand import Integral, Integrand, KeptNodes, PanelSums, Rule
from gplens.paths.panels import Panels, gain, ratio

REACHES = {9: 1.25, 11: 1.75, 15: 3.0}
"""Nodes of the first attempt at a panel, and the panel length in lengthscales up to which they suffice for a tolerance
of 1e-6; other tolerances scale it by the order of the error, tolerance^(1/n). Recipe: benchmarks/blocks.py prints the
nodes that are used. Kernels that are not analytic begin with 15 nodes, which a larger rule keeps."""
NESTED = (15, 31)
"""Numbers of nodes that are kept by the next attempt."""
NEXT = {9: 15, 11: 15, 15: 31, 31: 63}
"""Nodes of the next attempt at a panel. The panels of 15 nodes and more are nested (4.7): none is evaluated twice."""
FIRST_OF_HALVES, LAST_OF_HALVES = 15, 31
"""Nodes of the first and last attempt at a panel that was halved, as one with a kink is again and again."""
CHANCE = 0.25
"""The part of the largest error of a feature that every feature has, if the integrand is not analytic."""
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
    reach: float = 6.0
    panels: int = 4096
    """The most panels of a path in one round. A path that needs more is reported as not converged."""

    def __post_init__(self) -> None:
        if not (self.reach > 0 and self.panels >= 1):
            raise ValueError(f"Adaptive: expected reach > 0 and panels >= 1, got {self.reach} and {self.panels}.")

    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """Refine all paths, then repeat those that seem settled but whose attributions do not add up (4.4)."""
        panels = (integrand.length / self.reach).ceil().clamp(1, self.panels).long()
        sums, finer = self._refined(integrand, tolerance, panels), tolerance
        within, adds_up = _judge(integrand, sums, tolerance)
        for _ in range(RESTARTS):
            missed = within & ~adds_up
            if not missed.any():
                break
            panels, finer = (4 * panels).clamp(max=self.panels), finer / 10
            again = self._refined(integrand.take(missed.nonzero()[:, 0]), finer, panels[missed])
            sums = sums.replaced(missed, again)
            within, adds_up = _judge(integrand, sums, tolerance)
        gap = (sums.values.sum(2) - integrand.change).abs() - integrand.gap_floor  # the features miss as much together
        error = torch.maximum(sums.error, gap.clamp(min=0)[..., None] * (sums.error > 0))
        return Integral(sums.values, error, sums.nodes, within & adds_up)

    def _refined(self, integrand: Integrand, tolerance: float, panels: Int[Tensor, " b"]) -> "_Sums":
        """All paths, those whose first attempt has equally many nodes together."""
        count = _first_nodes(integrand, tolerance, panels)
        counts = count.unique().tolist()
        if len(counts) == 1:
            return _Refinement(integrand, tolerance, self.panels, panels, counts[0]).run()
        groups = [(count == number).nonzero()[:, 0] for number in counts]
        parts = [
            _Refinement(integrand.take(rows), tolerance, self.panels, panels[rows], number).run()
            for number, rows in zip(counts, groups, strict=True)
        ]
        return _joined(parts, torch.cat(groups).argsort())


def _first_nodes(integrand: Integrand, tolerance: float, panels: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
    """Fewer nodes for shorter panels and larger tolerances; a kink may hide from the fewest."""
    if integrand.kinked or not integrand.smooth:
        return torch.full_like(panels, 15)
    limits = [reach * (tolerance / 1e-6) ** (1 / (count - 1)) for count, reach in REACHES.items()]
    length = integrand.length / panels
    return torch.tensor([*REACHES, 31])[torch.bucketize(length, length.new_tensor(limits))].clamp(integrand.least_nodes)


def allowed_error(integrand: Integrand, values: Float[Tensor, "b o d"], tolerance: float) -> Float[Tensor, "b o"]:
    """The tolerance times the larger of |T(x) - T(x0)| and the largest |attribution| (4.8), plus the target's floor."""
    largest = torch.maximum(integrand.change.abs(), values.abs().amax(2))
    return tolerance * (largest + integrand.rounding) + integrand.floor


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


def _joined(parts: list[_Sums], order: Int[Tensor, " b"]) -> _Sums:
    """Several sets of paths as one, in another order."""
    columns = zip(*((part.values, part.error, part.worst, part.nodes) for part in parts), strict=True)
    return _Sums(*(torch.cat(column)[order] for column in columns))


def _judge(integrand: Integrand, sums: _Sums, tolerance: float) -> tuple[Bool[Tensor, " b"], Bool[Tensor, " b"]]:
    """Whether the estimated errors are within the tolerance (4.9), and whether the attributions add up (4.4)."""
    limit = allowed_error(integrand, sums.values, tolerance)
    gap = (sums.values.sum(2) - integrand.change).abs()
    return (sums.worst <= limit).all(1), (gap <= limit + integrand.gap_floor).all(1)


class _Refinement:
    """The refinement of paths: sums over the panels that are settled, and the panels that are pending."""

    def __init__(
        self, integrand: Integrand, tolerance: float, most: int, panels: Int[Tensor, " b"], count: int
    ) -> None:
        self.integrand, self.tolerance, self.most, self.count = integrand, tolerance, most, count
        self.pending = Panels.equal(panels) if integrand.kinked else Panels.cut(panels, integrand.kinks)
        self.kept: KeptNodes | None = None
        self.halved = integrand.kinked
        self.values: Tensor | None = None
        self.error: Tensor | None = None
        self.worst: Tensor | None = None
        self.nodes = torch.zeros(integrand.rows, dtype=torch.long)
        self.excess = torch.full((integrand.rows,), torch.inf, dtype=torch.float64)
        self.stalled = torch.zeros(integrand.rows, dtype=torch.long)

    def run(self) -> _Sums:
        """Rounds until no panel is left that could be improved. All pending panels have equally many nodes."""
        evaluated = 0
        while self.pending.owner.shape[0]:
            self.nodes.index_add_(0, self.pending.owner, torch.full_like(self.pending.owner, self.count - evaluated))
            sums = self.integrand.panel_sums(self.pending, self.count, self.tolerance, self.kept)
            unsettled = self._settle(sums)
            if not bool(unsettled.any()):
                break
            evaluated = self._refine(unsettled, sums)
        assert self.values is not None
        assert self.error is not None
        assert self.worst is not None
        return _Sums(self.values, self.error, self.worst, self.nodes)

    def _refine(self, unsettled: Bool[Tensor, " s"], sums: PanelSums) -> int:
        """More nodes for the panels that are not settled, or halves of them; return how many nodes they have already."""
        self.pending, self.kept, evaluated = self.pending.take(unsettled), None, self.count
        if self.count in NEXT and not (self.count >= LAST_OF_HALVES and (self.halved or sums.steep)):
            nested, self.count = self.count in NESTED, NEXT[self.count]
            self.kept = sums.kept.take(unsettled) if sums.kept is not None and nested else None
            return evaluated if nested else 0
        self.pending, self.count, self.halved = self.pending.halved(), FIRST_OF_HALVES, True
        return 0

    def _settle(self, sums: PanelSums) -> Bool[Tensor, " s"]:
        """Add up the panels that are within their share of the tolerance; return which are not."""
        values, total = sums.values, self._added(self.values, sums.values)
        error = sums.error
        if sums.difference is not None:
            error = self._shared(error) * self._gain(total, sums)[..., None]
        error = error if sums.missed is None else error + sums.missed
        limit, worst = allowed_error(self.integrand, total, self.tolerance), error.amax(2)
        excess = ratio(self._added(self.worst, worst), limit).amax(1)
        share = limit[self.pending.owner] * self.pending.width[:, None]
        unsettled = (worst > share).any(1) & self._may_go_on(excess)[self.pending.owner]
        done = ~unsettled if bool(unsettled.any()) else None
        self.values, self.error = self._added(self.values, values, done), self._added(self.error, error, done)
        self.worst = self._added(self.worst, worst, done)
        return unsettled

    def _shared(self, error: Float[Tensor, "s o d"]) -> Float[Tensor, "s o d"]:
        """Two rules may agree on one feature by chance: its error is at least a part of the largest (4.9a)."""
        if self.integrand.smooth:
            return error
        return torch.maximum(error, CHANCE * error.amax(2, keepdim=True)) * (error > 0)

    def _added(self, settled: Tensor | None, pending: Tensor, chosen: Bool[Tensor, " s"] | None = None) -> Tensor:
        """The sums of the paths with those of all pending panels, or of the chosen ones, added."""
        owner = self.pending.owner
        if settled is None and chosen is None and owner.shape[0] == self.integrand.rows:
            return pending  # one panel for each path
        if settled is None:
            settled = pending.new_zeros(self.integrand.rows, *pending.shape[1:])
        if chosen is None:
            return settled.index_add(0, owner, pending)
        return settled.index_add(0, owner[chosen], pending[chosen])

    def _gain(self, total: Float[Tensor, "b o d"], sums: PanelSums) -> Float[Tensor, "s o"]:
        """How much closer the sums are than those of the lower rule to what the attributions have to add up to  (4.9a)."""
        owner, change = self.pending.owner, self.integrand.change
        assert sums.difference is not None
        if not bool(self.integrand.gap_floor.isfinite().all()):
            return torch.ones_like(sums.difference)  # a named approximation does not add up
        higher, zero = total.sum(2) - change, torch.zeros_like(change)
        lower = higher - zero.index_add(0, owner, sums.difference)
        scale = total.abs().amax(2)  # in units of it squares neither overflow nor vanish
        squares = (sums.error / scale[owner][..., None]).square().sum(2)
        possible = scale * zero.index_add(0, owner, squares).sqrt()
        distances = (part[owner] for part in (higher.abs(), lower.abs(), possible))
        return gain(*distances, smooth=self.integrand.smooth, decay=sums.decay)

    def _may_go_on(self, excess: Float[Tensor, " b"]) -> Bool[Tensor, " b"]:
        """Paths that miss the tolerance, still gain by refinement, and have panels left."""
        self.stalled = torch.where(excess > self.excess * 2 / 3, self.stalled + 1, 0)
        self.excess = excess
        count = torch.bincount(self.pending.owner, minlength=self.integrand.rows)
        return (excess > 1) & (self.stalled < STALLED) & (count < self.most)
