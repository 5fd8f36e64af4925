"""Paths cut into panels, and what comes after a panel that was not settled (MATH 4.9)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

NEXT = {4: 7, 5: 7, 7: 15}
"""Gauss nodes of a second look at a panel, after so many of the first."""
LAST = 15
"""The most Gauss nodes; panels that they do not settle are halved."""


@final
@dataclass(frozen=True, eq=False)
class Panels:
    """Pieces [start, start + width] of paths, each with the index of its path."""

    owner: Int[Tensor, " s"]
    start: Float[Tensor, " s"]
    width: Float[Tensor, " s"]

    @staticmethod
    def equal(count: Int[Tensor, " b"]) -> "Panels":
        """So many of each path, of one width."""
        owner = torch.repeat_interleave(torch.arange(len(count)), count)
        first = torch.repeat_interleave(count.cumsum(0) - count, count)
        width = 1 / count[owner].double()
        return Panels(owner, (torch.arange(len(owner)) - first) * width, width)

    def take(self, mask: Bool[Tensor, " s"]) -> "Panels":
        """Some of them."""
        return Panels(self.owner[mask], self.start[mask], self.width[mask])

    def refined(self, order: Int[Tensor, " s"]) -> "tuple[Panels, Int[Tensor, ' r']]":
        """Those that more nodes may settle, and the halves of the others; with their orders."""
        whole = order < LAST
        kept, cut = self.take(whole), self.take(~whole)
        owner = torch.cat([kept.owner, cut.owner.repeat_interleave(2)])
        start = torch.cat([kept.start, torch.stack([cut.start, cut.start + cut.width / 2], dim=1).flatten()])
        width = torch.cat([kept.width, (cut.width / 2).repeat_interleave(2)])
        following = torch.tensor([NEXT[one] for one in order[whole].tolist()] + [LAST] * (len(owner) - len(kept.owner)))
        return Panels(owner, start, width), following
