"""The parts of a target's gradient that come through the means and through the variances (MATH 11.1)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import Channel, Expectation, Jet
from gplens.processes.process import Marginals


@final
@dataclass(frozen=True, eq=False)
class ChannelGradients(Expectation):
    """psi with psi_m and psi_v of some latent functions alone, for each channel: outputs of one channel, then the next.

    These are no gradients of a function, so that their integrals add up to nothing that is known. Only the two rules
    of a path tell their error, as for a named approximation.
    """

    expectation: Expectation
    parts: tuple[Channel, ...]

    @property
    def accuracy(self) -> float:
        return torch.inf

    @property
    def floor(self) -> float:
        return self.expectation.floor

    @property
    def independent(self) -> bool:
        return self.expectation.independent

    def count(self, latents: int) -> int:
        return len(self.parts) * self.expectation.count(latents)

    def resolution(self, marginals: Marginals) -> Float[Tensor, "b c q"] | None:
        return self.expectation.resolution(marginals)

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """The values are those of psi, to whose change tolerances are relative."""
        count = self.expectation.count(marginals.m.shape[1])
        own = sorted({output % count for output in outputs})
        value, by_m, by_v = self.expectation.jet(marginals, tuple(own))
        column = [own.index(output % count) for output in outputs]
        channels = [self.parts[output // count] for output in outputs]
        by_m = by_m[:, column] * _mask([channel.means for channel in channels], by_m)
        if by_v is None or not any(channel.variances for channel in channels):
            return Jet(value[:, column], by_m, None)
        return Jet(value[:, column], by_m, by_v[:, column] * _mask([channel.variances for channel in channels], by_v))


def _mask(latents: list[tuple[int, ...]], like: Float[Tensor, "b o c q"]) -> Float[Tensor, "p c 1"]:
    """One for the latent functions of each channel, zero for the others."""
    mask = like.new_zeros(len(latents), like.shape[2], 1)
    for row, chosen in zip(mask, latents, strict=True):
        row[list(chosen)] = 1
    return mask
