"""The independent latent functions that the outputs of a process are made of (MATH 1.8)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.processes.process import Process


@final
@dataclass(frozen=True, eq=False)
class Sources:
    """Independent latent functions g and the outputs made of them:  f = M g + N e, e standard normal  (1.8)."""

    process: Process
    weights: Float[Tensor, "c l"]
    """M."""
    noise: Float[Tensor, "c k"]
    """N: the jitter that a host adds to mixed outputs; no columns if it adds none."""

    @staticmethod
    def of(process: Process) -> "Sources":
        """The sources of any process; independent outputs are their own sources."""
        identity = torch.eye(process.latents, dtype=torch.float64)
        return process.sources() or Sources(process, identity, identity[:, :0])

    @property
    def jitter(self) -> Float[Tensor, " c"]:
        """The variance of N e."""
        return self.noise.square().sum(1)
