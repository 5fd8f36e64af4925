"""Adaptive refinement of paths by order, then by panels, only where a path needs it (MATH 4.9)."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from gplens.paths.integrals import Integral, PathSums, joined_paths
from gplens.paths.integrand import Integrand
from gplens.paths.panel_refinement import PanelRefinement

REACHES = {9: 1.25, 11: 1.75, 15: 3.0}
"""Numbers of nodes n for a first attempt at a panel, and the panel length in lengthscales up to which n suffice at a
tolerance of 1e-6; for other tolerances the length scales like tolerance^(1/n). Recipe: benchmarks/blocks.py prints
the nodes that are used. Kernels that are not analytic begin with 15 nodes, which larger rules contain."""
REACH_OF_ROUGH = 1.4
"""The length of the first panels, in lengthscales, if the kernels are not analytic: 15 nodes mostly suffice for it.
Recipe: benchmarks/blocks.py prints the nodes that are used."""
STATED, STATED_OF_ROUGH = 0.1, 1.0
"""The smallest stated error, as a part of the allowed error, for analytic and other kernels. Estimates of smaller
errors may be wrong by more than their safety factors. Recipe: scripts/stated_errors.py"""
RESTARTS = 3
"""How often a path that nearly converged, or whose attributions do not add up, is integrated again, each time with
four times the panels and a tenth of the tolerance."""
FINER, CLOSER = 3, 30
"""For an integral that confirms another one with nodes at other places: its number of panels for each panel of the
other, and the factor on its tolerance. Recipe: tests/truth/test_cancelling_paths.py, which fails if the tolerance is
not smaller."""
LONGEST = 6.0
"""Lengthscales of a first panel beyond which a bump may lie between its nodes, so that a path has not converged."""
NEARLY = 4.0
"""A path nearly converged if its estimated error is at most this multiple of the allowed error."""


@final
@dataclass(frozen=True)
class OnPanels:
    """Gauss-Kronrod on panels of paths, refined until every path converged or reached its largest number of panels."""

    reach: float
    """The most lengthscales of a first panel."""
    most: int
    """The most panels of a path in one round."""

    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """Paths that nearly converged, or whose attributions do not add up (4.4), are repeated."""
        reach = self.reach if integrand.smooth else min(self.reach, REACH_OF_ROUGH)
        panels = (integrand.length / reach).ceil().clamp(1, self.most).long()
        sums, finer = self._refined(integrand, tolerance, panels), tolerance
        converged, missed = _judge(integrand, sums, tolerance)
        for _ in range(RESTARTS):
            if not missed.any():
                break
            panels, finer = (4 * panels).clamp(max=self.most), finer / 10
            again = self._refined(integrand.take(missed.nonzero()[:, 0]), finer, panels[missed])
            sums = sums.replaced(missed, again)
            converged, missed = _judge(integrand, sums, tolerance)
        sums, confirmed = self._confirmed(integrand, sums, sums.uninformed & converged, panels, tolerance)
        converged = converged & confirmed & (integrand.length <= max(self.reach, LONGEST) * self.most)
        limit = integrand.allowed_error(sums.values, tolerance)
        gap = (sums.values.sum(2) - integrand.change).abs() - integrand.gap_floor  # the features' errors add up to it
        smallest = (STATED if integrand.smooth else STATED_OF_ROUGH) * limit
        missing = torch.maximum(gap, torch.minimum(2 * gap, limit))[..., None] * (sums.error > 0)
        estimate = torch.maximum(sums.error, missing)
        error = torch.maximum(estimate, smallest[..., None] * (sums.error > 0))
        return Integral(sums.values, error, sums.nodes, converged, estimate)

    def _confirmed(
        self,
        integrand: Integrand,
        sums: PathSums,
        doubtful: Bool[Tensor, " b"],
        panels: Int[Tensor, " b"],
        tolerance: float,
    ) -> tuple[PathSums, Bool[Tensor, " b"]]:
        """Integrate paths on which errors of features cancel in their sum once more, until two results agree (4.9d)."""
        for _ in range(RESTARTS):
            rows = doubtful.nonzero()[:, 0]
            if not len(rows):
                break
            panels = torch.where(doubtful, (FINER * panels).clamp(max=self.most), panels)
            again = self._refined(integrand.take(rows), tolerance / CLOSER, panels[rows])
            apart = (again.values - sums.values[rows]).abs()
            worst = torch.maximum(again.worst, apart.amax(2))
            sums = sums.replaced(doubtful, replace(again, error=torch.maximum(again.error, apart), worst=worst))
            limit = integrand.allowed_error(sums.values, tolerance)
            doubtful = doubtful & (sums.worst > limit).any(1)
        return sums, ~doubtful

    def _refined(self, integrand: Integrand, tolerance: float, panels: Int[Tensor, " b"]) -> PathSums:
        """Integrate all paths; those with the same number of nodes in the first attempt together."""
        count = _first_nodes(integrand, tolerance, panels)
        counts = count.unique().tolist()
        if len(counts) == 1:
            return PanelRefinement(integrand, tolerance, self.most, panels, counts[0]).run()
        groups = [(count == number).nonzero()[:, 0] for number in counts]
        parts = [
            PanelRefinement(integrand.take(rows), tolerance, self.most, panels[rows], number).run()
            for number, rows in zip(counts, groups, strict=True)
        ]
        return joined_paths(parts, torch.cat(groups).argsort())


def _first_nodes(integrand: Integrand, tolerance: float, panels: Int[Tensor, " b"]) -> Int[Tensor, " b"]:
    """The nodes of the first attempt: fewer for shorter panels and larger tolerances, but enough to notice a kink."""
    if integrand.kinked or not integrand.smooth:
        return torch.full_like(panels, 15)
    limits = [reach * (tolerance / 1e-6) ** (1 / (count - 1)) for count, reach in REACHES.items()]
    length = integrand.length / panels
    return torch.tensor([*REACHES, 31])[torch.bucketize(length, length.new_tensor(limits))].clamp(integrand.least_nodes)


def _judge(integrand: Integrand, sums: PathSums, tolerance: float) -> tuple[Bool[Tensor, " b"], Bool[Tensor, " b"]]:
    """Which paths converged, with errors within the tolerance (4.9) and a small gap (4.4); and which nearly did."""
    limit = integrand.allowed_error(sums.values, tolerance)
    gap = (sums.values.sum(2) - integrand.change).abs()
    within, nearly = ((sums.worst <= factor * limit).all(1) for factor in (1.0, NEARLY))
    converged = within & (gap <= limit + integrand.gap_floor).all(1)
    return converged, nearly & ~converged
