"""Expectations over draws of the latent values, with a standard error: for what has no closed form (MATH 3)."""

from abc import abstractmethod

from jaxtyping import Float
from torch import Tensor

from gplens.functional import Functional


class Sampled(Functional):
    """psi as the average over replicates, each a fixed set of draws that all inputs share.

    A replicate is a smooth function of (m, v), so that its attributions add up exactly; the spread of the replicates
    is the standard error. Output r * C + c of `jet` is output c of replicate r.
    """

    @property
    @abstractmethod
    def replicates(self) -> int:
        """How many independent averages there are."""

    @property
    def default_tolerance(self) -> float:
        """1e-4: a standard error falls slowly."""
        return 1e-4

    @abstractmethod
    def refined(self) -> "Sampled | None":
        """With twice the draws, or None where it has as many as it may have."""

    @abstractmethod
    def draws(self, replicate: int, latents: int) -> Float[Tensor, "n l"]:
        """Standard normal draws."""
