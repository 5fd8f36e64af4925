"""Integrals over panels, their error estimates, and the evaluated nodes for a larger rule (MATH 4.9)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.paths.integrals import ratio


class KeptNodes(ABC):
    """Results at the nodes of panels, so that a rule that contains these nodes evaluates only its other nodes."""

    @abstractmethod
    def take(self, chosen: Bool[Tensor, " s"]) -> "KeptNodes | None":
        """The results of some panels; None if so few are left that evaluating them again is cheaper."""


@final
@dataclass(frozen=True, eq=False)
class PanelSums:
    """Integrals over panels, with what their errors are estimated from."""

    values: Float[Tensor, "s o d"]
    error: Float[Tensor, "s o d"]
    """The error of the lower rule, if that of the rule may be far smaller; else the estimated error of the rule."""
    missed: Float[Tensor, "s o d"] | None = None
    """An additional error that does not depend on the rule: the error of pieces of panels (4.10)."""
    difference: Float[Tensor, "s o"] | None = None
    """The rule minus the lower rule, summed over the features, if `error` is that of the lower rule; else None."""
    decay: Float[Tensor, "s o"] | None = None
    """The ratio of the largest error to that of the next lower rule, if there are three rules; else None."""
    steep: bool = False
    """Whether the link was integrated on pieces of a panel."""
    kept: KeptNodes | None = None
    """The evaluated nodes; None if there were too many to keep."""

    @staticmethod
    def of(sums: Float[Tensor, "s r o d"], missed: Float[Tensor, "s o"] | None, *, kinked: bool) -> "PanelSums":
        """From the sums of a nested rule, and the relative error of pieces of panels."""
        values, size = sums[:, 0], sums[:, 0].abs().amax(2, keepdim=True)
        beside = None if missed is None else missed[..., None] * size.expand_as(values)
        if kinked:
            return PanelSums(values, sums[:, 1:].abs().amax(1), beside, steep=missed is not None)
        error, decay = sums[:, 1].abs(), None
        if sums.shape[1] > 2:
            decay = ratio(error.amax(2), sums[:, 2].abs().amax(2))
        return PanelSums(values, error, beside, sums[:, 1].sum(2), decay, missed is not None)


def joined_sums(blocks: list[PanelSums]) -> PanelSums:
    """Join several sets of panels."""

    def joined(parts: "list[Tensor | None]") -> Tensor | None:
        present = [part for part in parts if part is not None]
        like = [block.values if part is None else part for block, part in zip(blocks, parts, strict=True)]
        if not present:
            return None
        return torch.cat([torch.zeros_like(p) if part is None else part for p, part in zip(like, parts, strict=True)])

    values, error = torch.cat([block.values for block in blocks]), torch.cat([block.error for block in blocks])
    missed, difference, decay = (
        joined([getattr(block, name) for block in blocks]) for name in ("missed", "difference", "decay")
    )
    return PanelSums(values, error, missed, difference, decay, any(block.steep for block in blocks))
