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
    """psi with psi_m and psi_v of some latent functions only, for each channel: outputs of one channel, then the next.

    These are not gradients of a function, so that it is not known what their integrals add up to. Their error is
    estimated by two rules on a path, as for a named approximation.
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

    def chosen(self, latents: int, outputs: tuple[int, ...]) -> "ChosenChannels":
        """The channel of each output, and the output of psi to which it belongs."""
        count = self.expectation.count(latents)
        own = tuple(sorted({output % count for output in outputs}))
        columns = [own.index(output % count) for output in outputs]
        return ChosenChannels(own, columns, tuple(self.parts[output // count] for output in outputs))

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """The values are those of psi, since tolerances are relative to the change of psi."""
        chosen = self.chosen(marginals.m.shape[1], outputs)
        value, by_m, by_v = self.expectation.jet(marginals, chosen.outputs)
        means, variances = chosen.masks(by_m)
        value, by_m = value[:, chosen.columns], by_m[:, chosen.columns] * means
        if by_v is None or not bool(variances.any()):
            return Jet(value, by_m, None)
        return Jet(value, by_m, by_v[:, chosen.columns] * variances)


@final
@dataclass(frozen=True)
class ChosenChannels:
    """Some channels of some outputs."""

    outputs: tuple[int, ...]
    """The outputs of psi, each once."""
    columns: list[int]
    """The output of psi to which each channel belongs."""
    channels: tuple[Channel, ...]

    def masks(self, like: Float[Tensor, "b o c q"]) -> tuple[Float[Tensor, "p c 1"], Float[Tensor, "p c 1"]]:
        """For the means and for the variances: one for the latent functions of a channel, zero for the others."""
        means, variances = (like.new_zeros(len(self.channels), like.shape[2], 1) for _ in range(2))
        for i, channel in enumerate(self.channels):
            means[i, list(channel.means)], variances[i, list(channel.variances)] = 1, 1
        return means, variances
