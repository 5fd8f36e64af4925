"""The average over the baselines of an input."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.units import power_of_two


@final
@dataclass(frozen=True, eq=False)
class Background:
    """How the attributions of an input relative to several baselines become one."""

    shares: Float[Tensor, " s"] | None = None
    """The share of each baseline in the average, adding up to one; None if all have the same share."""
    sets: Sequence[Sequence[int]] | None = None
    """Features whose sums the deviations are of; None for those of single features."""

    def mean(self, paths: Float[Tensor, "b s ..."]) -> Float[Tensor, "b ..."]:
        """The average over the baselines."""
        return paths.mean(1) if self.shares is None else torch.einsum("s,bs...->b...", self.shares, paths)

    def summed(self, values: Float[Tensor, "*rows d"]) -> Float[Tensor, "*rows g"]:
        """Sums over the sets."""
        if self.sets is None:
            return values
        return torch.stack([values[..., list(members)].sum(-1) for members in self.sets], dim=-1)

    def deviation(self, values: Float[Tensor, "b s o d"]) -> Float[Tensor, "b o g"]:
        """The deviation from the average (4.12)."""
        values = self.summed(values)
        unit = power_of_two(values.abs().amax((1, 2, 3), keepdim=True))  # squares of small numbers vanish
        scaled = values / unit
        return unit[:, 0] * self.mean((scaled - self.mean(scaled)[:, None]).square()).sqrt()
