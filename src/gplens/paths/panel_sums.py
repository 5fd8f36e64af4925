"""Integrals over panels, with what tells their errors, and what a larger rule need not compute again (MATH 4.9)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.paths.panels import ratio


class KeptNodes(ABC):
    """What was computed at the nodes of panels, so that a rule with these nodes and more computes only the others."""

    @abstractmethod
    def take(self, chosen: Bool[Tensor, " s"]) -> "KeptNodes | None":
        """Those of some panels; None if they are too few to be worth it."""


@final
@dataclass(frozen=True, eq=False)
class PanelSums:
    """Integrals over panels."""

    values: Float[Tensor, "s o d"]
    error: Float[Tensor, "s o d"]
    """The error of the lower rule if that of the rule itself may be far smaller, else the estimated error itself."""
    missed: Float[Tensor, "s o d"] | None = None
    """What comes on top of it, however small the error of the rule is: what pieces of panels miss (4.10)."""
    difference: Float[Tensor, "s o"] | None = None
    """The rule less the lower one, summed over the features, if the error is that of the lower rule."""
    decay: Float[Tensor, "s o"] | None = None
    """The ratio of the largest error to that of the next lower rule, if there are three rules."""
    steep: bool = False
    """Whether the link was integrated on pieces of a panel."""
    kept: KeptNodes | None = None
    """None if the nodes were too many to keep."""

    @staticmethod
    def of(sums: Float[Tensor, "s r o d"], missed: Float[Tensor, "s o"] | None, *, kinked: bool) -> "PanelSums":
        """From the sums of a nested rule, and the part of them that pieces of panels miss."""
        values, size = sums[:, 0], sums[:, 0].abs().amax(2, keepdim=True)
        beside = None if missed is None else missed[..., None] * size.expand_as(values)
        if kinked:
            return PanelSums(values, sums[:, 1:].abs().amax(1), beside, steep=missed is not None)
        error, decay = sums[:, 1].abs(), None
        if sums.shape[1] > 2:
            decay = ratio(error.amax(2), sums[:, 2].abs().amax(2))
        return PanelSums(values, error, beside, sums[:, 1].sum(2), decay, missed is not None)


def joined_sums(blocks: list[PanelSums]) -> PanelSums:
    """Several sets of panels as one."""

    def joined(parts: "list[Tensor | None]") -> Tensor | None:
        known = [part for part in parts if part is not None]
        like = [block.values if part is None else part for block, part in zip(blocks, parts, strict=True)]
        if not known:
            return None
        return torch.cat([torch.zeros_like(p) if part is None else part for p, part in zip(like, parts, strict=True)])

    values, error = torch.cat([block.values for block in blocks]), torch.cat([block.error for block in blocks])
    missed, difference, decay = (
        joined([getattr(block, name) for block in blocks]) for name in ("missed", "difference", "decay")
    )
    return PanelSums(values, error, missed, difference, decay, any(block.steep for block in blocks))
