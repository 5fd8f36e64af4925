"""Blocks of columns that change at once, and the lines on which some of them are switched (MATH 10.1)."""

from dataclasses import dataclass
from itertools import product
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

MOST = 12
"""The most categories that one path may change; the path is then evaluated on 2^12 = 4,096 lines."""


@final
@dataclass(frozen=True)
class Switches:
    """Blocks of columns that have no values in between: categories, tasks, one-hot blocks."""

    blocks: tuple[tuple[int, ...], ...]

    def changed(self, x0: Float[Tensor, "*starts d"], x: Float[Tensor, "*ends d"]) -> Bool[Tensor, "*paths j"]:
        """Whether each block differs between the ends of the paths; the axes of x0 and x broadcast."""
        different = x0 != x
        return torch.stack([different[..., list(block)].any(-1) for block in self.blocks], dim=-1)

    def held(self, x0: Float[Tensor, "*starts d"], x: Float[Tensor, "*ends d"]) -> Float[Tensor, "*paths d"]:
        """x0 with the categories of x, so that the path from it to x changes numbers only."""
        held = x0.expand(torch.broadcast_shapes(x0.shape, x.shape)).clone()
        columns = self.columns
        held[..., columns] = x.expand_as(held)[..., columns]
        return held

    @property
    def columns(self) -> list[int]:
        """The columns of all blocks."""
        return [column for block in self.blocks for column in block]

    @property
    def places(self) -> list[int]:
        """The first column of each block, where its attribution is written."""
        return [block[0] for block in self.blocks]

    def corners(self, x0: Float[Tensor, "#b d"], x: Float[Tensor, "b d"]) -> "Corners":
        """The 2^c lines of each path that changes c blocks."""
        x0 = x0.expand_as(x)
        changed = self.changed(x0, x)
        parts = [_of_pattern(self, x0, x, pattern, changed) for pattern in changed.unique(dim=0)]
        owner, start, d, switched = (torch.cat(columns) for columns in zip(*parts, strict=True))
        order = owner.argsort(stable=True)
        owner = owner[order]
        return Corners(owner, start[order], d[order], switched[order], changed[owner])


def _of_pattern(
    switches: Switches, x0: Tensor, x: Tensor, pattern: Bool[Tensor, " j"], changed: Bool[Tensor, "b j"]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The lines of paths that change the same blocks: path, beginning, direction, and switched blocks of each line."""
    rows, blocks = (changed == pattern).all(1).nonzero()[:, 0], pattern.nonzero()[:, 0].tolist()
    sets = torch.tensor(list(product([False, True], repeat=len(blocks))), dtype=torch.bool).view(
        2 ** len(blocks), len(blocks)
    )
    switched = torch.zeros(len(sets), len(pattern), dtype=torch.bool)
    switched[:, blocks] = sets
    by_column = torch.zeros(len(sets), x.shape[1], dtype=torch.bool)
    for j in blocks:
        by_column[:, list(switches.blocks[j])] = switched[:, [j]]
    start = torch.where(by_column, x[rows, None], x0[rows, None])
    d = (x[rows] - x0[rows])[:, None].repeat(1, len(sets), 1)
    d[..., switches.columns] = 0.0
    return rows.repeat_interleave(len(sets)), start.flatten(0, 1), d.flatten(0, 1), switched.repeat(len(rows), 1)


@final
@dataclass(frozen=True, eq=False)
class Corners:
    """Lines of paths, each with a set S of switched blocks among those that its path changes, in the order of paths."""

    owner: Int[Tensor, " l"]
    """The path of each line."""
    x0: Float[Tensor, "l d"]
    d: Float[Tensor, "l d"]
    """Zero in all blocks."""
    switched: Bool[Tensor, "l j"]
    """S."""
    changed: Bool[Tensor, "l j"]
    """The blocks that the path changes."""

    def take(self, lines: Int[Tensor, " k"]) -> "Corners":
        """Some of the lines."""
        return Corners(self.owner[lines], self.x0[lines], self.d[lines], self.switched[lines], self.changed[lines])

    def weights(self, t: Float[Tensor, "l q"]) -> Float[Tensor, "l q"]:
        """t^|S| (1 - t)^(c - |S|): the probability of S if every block is switched with probability t  (10.1)."""
        s, c = self.switched.sum(1, keepdim=True), self.changed.sum(1, keepdim=True)
        return t**s * (1 - t) ** (c - s)

    def differences(self, t: Float[Tensor, "l q"]) -> Float[Tensor, "l j q"]:
        """The weight of T on the line in  E_S[T given j in S] - E_S[T given j not in S]  (10.2)."""
        s, c = self.switched.sum(1, keepdim=True), self.changed.sum(1, keepdim=True)
        inside = t ** (s - 1).clamp(min=0) * (1 - t) ** (c - s)
        outside = t**s * (1 - t) ** (c - 1 - s).clamp(min=0)
        signed = torch.where(self.switched[..., None], inside[:, None], -outside[:, None])
        return torch.where(self.changed[..., None], signed, 0.0)
