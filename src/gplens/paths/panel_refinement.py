"""Refinement of paths panel by panel, with more nodes and then by halving, until the error is small (MATH 4.9)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.paths.integrals import PathSums, ratio
from gplens.paths.integrand import Integrand
from gplens.paths.panel_sums import KeptNodes, PanelSums
from gplens.paths.panels import Panels, gain

NESTED = (15, 31)
"""The rules whose nodes the next attempt contains."""
NEXT = {9: 15, 11: 15, 15: 31, 31: 63}
"""The number of nodes of the next attempt at a panel. Rules of 15 nodes and more are nested (4.7), so that no node is
evaluated twice."""
FIRST_OF_HALVES, LAST_OF_HALVES = 15, 31
"""The number of nodes of the first and the last attempt at a halved panel. Panels with a kink are halved repeatedly."""
CHANCE = 0.25
"""The smallest error of a feature as a part of the largest error of all features, if the integrand is not analytic."""
CANCEL = 5.0
"""If independent errors of features would give a gap this many times larger, the errors cancel in the gap, which then
says nothing about them."""
STALLED = 4
"""After this many rounds in a row that reduce the error by less than a third, the rest is taken to be rounding."""


class PanelRefinement:
    """The state of a refinement: sums over the finished panels, and the panels that are pending."""

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
        self.uninformed = torch.zeros(integrand.rows, dtype=torch.bool)

    def run(self) -> PathSums:
        """Repeat rounds until no panel can be improved. All pending panels have the same number of nodes."""
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
        return PathSums(self.values, self.error, self.worst, self.nodes, self.uninformed)

    def _refine(self, unsettled: Bool[Tensor, " s"], sums: PanelSums) -> int:
        """Give the unfinished panels more nodes, or halve them; return their number of nodes."""
        self.pending, self.kept, evaluated = self.pending.take(unsettled), None, self.count
        if self.count in NEXT and not (self.count >= LAST_OF_HALVES and (self.halved or sums.steep)):
            nested, self.count = self.count in NESTED, NEXT[self.count]
            self.kept = sums.kept.take(unsettled) if sums.kept is not None and nested else None
            return evaluated if nested else 0
        self.pending, self.count, self.halved = self.pending.halved(), FIRST_OF_HALVES, True
        return 0

    def _settle(self, sums: PanelSums) -> Bool[Tensor, " s"]:
        """Add the panels that are within their share of the tolerance to the sums; return which are not."""
        values, total = sums.values, self._added(self.values, sums.values)
        error = sums.error
        if sums.difference is not None:
            error = self._shared(error) * self._gain(total, sums)[..., None]
        error = error if sums.missed is None else error + sums.missed
        limit, worst = self.integrand.allowed_error(total, self.tolerance), error.amax(2)
        excess = ratio(self._added(self.worst, worst), limit).amax(1)
        share = limit[self.pending.owner] * self.pending.width[:, None]
        unsettled = (worst > share).any(1) & self._may_go_on(excess)[self.pending.owner]
        done = ~unsettled if bool(unsettled.any()) else None
        self.values, self.error = self._added(self.values, values, done), self._added(self.error, error, done)
        self.worst = self._added(self.worst, worst, done)
        return unsettled

    def _shared(self, error: Float[Tensor, "s o d"]) -> Float[Tensor, "s o d"]:
        """Two rules may agree on one feature by chance, so its error is at least a part of the largest one (4.9a)."""
        if self.integrand.smooth:
            return error
        return torch.maximum(error, CHANCE * error.amax(2, keepdim=True)) * (error > 0)

    def _added(self, settled: Tensor | None, pending: Tensor, chosen: Bool[Tensor, " s"] | None = None) -> Tensor:
        """The sums of the paths including all pending panels, or the chosen ones."""
        owner = self.pending.owner
        if settled is None and chosen is None and owner.shape[0] == self.integrand.rows:
            return pending  # one panel for each path
        if settled is None:
            settled = pending.new_zeros(self.integrand.rows, *pending.shape[1:])
        if chosen is None:
            return settled.index_add(0, owner, pending)
        return settled.index_add(0, owner[chosen], pending[chosen])

    def _gain(self, total: Float[Tensor, "b o d"], sums: PanelSums) -> Float[Tensor, "s o"]:
        """How much closer the sums of the rule are to T(x) - T(x0) than the sums of the lower rule  (4.9a)."""
        owner, change = self.pending.owner, self.integrand.change
        assert sums.difference is not None
        if not bool(self.integrand.gap_floor.isfinite().all()):
            return torch.ones_like(sums.difference)  # a named approximation does not add up
        higher, zero = total.sum(2) - change, torch.zeros_like(change)
        lower = higher - zero.index_add(0, owner, sums.difference)
        scale = total.abs().amax(2)  # in this unit squares neither overflow nor vanish
        squares = (sums.error / scale[owner][..., None]).square().sum(2)
        possible = scale * zero.index_add(0, owner, squares).sqrt()
        self.uninformed |= (possible > CANCEL * lower.abs()).any(1)
        distances = (part[owner] for part in (higher.abs(), lower.abs(), possible))
        return gain(*distances, smooth=self.integrand.smooth, decay=sums.decay)

    def _may_go_on(self, excess: Float[Tensor, " b"]) -> Bool[Tensor, " b"]:
        """The paths that miss the tolerance, still improve with refinement, and have panels left."""
        self.stalled = torch.where(excess > self.excess * 2 / 3, self.stalled + 1, 0)
        self.excess = excess
        count = torch.bincount(self.pending.owner, minlength=self.integrand.rows)
        return (excess > 1) & (self.stalled < STALLED) & (count < self.most)
