"""A target as a function psi(m, v) of the marginals, with its partials: what the engine asks for (MATH 2)."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link
from gplens.processes.process import Marginals, Process

ACCURACY = 1e-10
"""Stated accuracy of the moments of every exact link, relative to 1 + |value|."""


class Jet(NamedTuple):
    """psi and its partial derivatives at the nodes of a line."""

    value: Float[Tensor, "b o q"]
    by_m: Float[Tensor, "b o c q"]
    by_v: Float[Tensor, "b o c q"] | None
    """None where psi does not depend on v, so that nothing of the variance is computed."""


class Expectation(ABC):
    """T(x) = psi(m(x), v(x))."""

    @property
    def accuracy(self) -> float:
        """The error of psi relative to 1 + |psi|; infinite where the derivatives are those of an approximation."""
        return ACCURACY

    @property
    def floor(self) -> float:
        """The absolute error of psi_m and psi_v, beyond rounding, below which no path can be refined."""
        return 0.0

    @property
    def independent(self) -> bool:
        """Whether psi holds for independent latent functions only."""
        return False

    @property
    def default_tolerance(self) -> float:
        """What explain() asks for when the user does not."""
        return 1e-6

    def names(self, latents: int) -> tuple[str, ...]:
        """What the outputs are called."""
        return tuple(f"output {i}" for i in range(self.count(latents)))

    def within(self, tolerance: float) -> "Expectation":
        """The expectation to an accuracy that a relative tolerance of attributions wants."""
        return self

    def narrowed(self, process: Process, outputs: tuple[int, ...]) -> "tuple[Process, Expectation, tuple[int, ...]]":
        """The same outputs of as few latent functions as they need."""
        return process, self, outputs

    def link_of(self, output: int) -> Link | None:
        """The link of an output that is the expectation of a function of its own latent value; else None."""
        return None

    def slopes(
        self, f: Float[Tensor, "s l q"], extra: Float[Tensor, "l q"], outputs: tuple[int, ...]
    ) -> Float[Tensor, "s o l q"]:
        """dT/df of the random target T(f) at latent paths, averaged over N(0, extra) around them  (5.15)."""
        raise ValueError(
            f"{self!r} is not a function of the random latent values but of their distribution (or an approximation "
            "of one), so that its attributions have no posterior uncertainty. Ask for it without uncertainty=, or "
            "explain the response or the latent function."
        )

    @abstractmethod
    def count(self, latents: int) -> int:
        """The number of outputs for so many latent functions."""

    @abstractmethod
    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """psi, psi_m, psi_v for the outputs asked for."""
