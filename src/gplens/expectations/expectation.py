"""The interface of what is explained: a function psi(m, v) of the marginals, with its partial derivatives (MATH 2)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, final

from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link
from gplens.processes.process import Marginals, Process

ACCURACY = 1e-10
"""The stated accuracy of the moments of every exact link, relative to |value|."""


class Jet(NamedTuple):
    """psi and its partial derivatives at the nodes of a line."""

    value: Float[Tensor, "b o q"]
    by_m: Float[Tensor, "b o c q"]
    by_v: Float[Tensor, "b o c q"] | None
    """None if psi does not depend on v; the variance is then not computed."""


@final
@dataclass(frozen=True)
class HyperparameterDraws:
    """The terms of outputs that are averages over draws of hyper-parameters."""

    expectation: "Expectation"
    """The expectation of every draw of every output."""
    outputs: tuple[int, ...]
    """The outputs of that expectation which belong to the requested outputs."""
    counts: tuple[int, ...]
    """How many of these outputs belong to each requested output."""


class Channel(NamedTuple):
    """A part of every attribution: the part that comes through some means and variances of latent functions  (11.1)."""

    name: str
    means: tuple[int, ...]
    variances: tuple[int, ...]


class Expectation(ABC):
    """T(x) = psi(m(x), v(x)), for one or more outputs.

    A subclass defines `count` and `jet`; every other member has a default.
    """

    @property
    def accuracy(self) -> float:
        """The error of psi relative to |psi|; infinite if psi_m and psi_v are approximations."""
        return ACCURACY

    @property
    def floor(self) -> float:
        """The absolute error of psi_m and psi_v, beyond rounding. No path can be refined below it."""
        return 0.0

    @property
    def independent(self) -> bool:
        """Whether psi requires independent latent functions."""
        return False

    @property
    def default_tolerance(self) -> float:
        """The default tolerance of explain() for this expectation."""
        return 1e-6

    @property
    def kinked(self) -> bool:
        """Whether psi is a sum over samples, each with a kink."""
        return False

    @property
    def replicates(self) -> int | None:
        """The number of independent averages over draws; None for an expectation that is not sampled."""
        return None

    @abstractmethod
    def count(self, latents: int) -> int:
        """The number of outputs for so many latent functions."""

    @abstractmethod
    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """psi, psi_m and psi_v of the requested outputs."""

    def resolution(self, marginals: Marginals) -> Float[Tensor, "b c q"] | None:
        """The change of each latent mean within which psi is nearly polynomial (4.10), as for a link.

        None if psi needs no nodes beyond those of the latent functions, or if it is not known.
        """
        return None

    def names(self, latents: int) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(f"output {i}" for i in range(self.count(latents)))

    def channels(self, latents: int) -> tuple[Channel, ...]:
        """The channels into which attributions can be split; none if it is not known what psi depends on."""
        every = tuple(range(latents))
        return Channel("mean", every, ()), Channel("variance", (), every)

    def within(self, tolerance: float) -> "Expectation":
        """The same expectation, with the accuracy that a relative tolerance of attributions requires."""
        return self

    def narrowed(self, process: Process, outputs: tuple[int, ...]) -> "tuple[Process, Expectation, tuple[int, ...]]":
        """The same outputs from as few latent functions as they need."""
        return process, self, outputs

    def refined(self) -> "Expectation | None":
        """The same expectation with twice the draws; None if it has the most draws, or is not sampled."""
        return None

    def of_mixes(self, weights: Float[Tensor, "c l"], noise: Float[Tensor, "c n"]) -> "Expectation":
        """The same expectation as a function of the independent latent functions that the outputs are mixes of."""
        raise ValueError(
            f"expected independent latent functions for {self!r}, got outputs that are mixes of common ones. Use "
            "links.Softmax(), which then goes by quasi Monte Carlo."
        )

    def link_of(self, output: int) -> Link | None:
        """The link of an output that is E g(f) of one latent function; None for any other output."""
        return None

    def draws_of(self, outputs: tuple[int, ...]) -> HyperparameterDraws | None:
        """The terms of outputs that are averages over draws of hyper-parameters; None for other outputs."""
        return None

    def slopes(
        self, f: Float[Tensor, "s l q"], extra: Float[Tensor, "l q"], outputs: tuple[int, ...]
    ) -> Float[Tensor, "s o l q"]:
        """dT/df of the random target T(f) at latent paths, averaged over N(0, extra) around them  (5.15)."""
        raise ValueError(
            "expected a target that is a function of the random latent values for uncertainty=, got "
            f"{self!r}, which is a function of their distribution or an approximation: its attributions have no "
            "posterior uncertainty. Explain it without uncertainty=, or explain the response or the latent function."
        )
