"""What is explained: a function psi(m, v) of the marginals with its partial derivatives, such as E g(f) (MATH 2)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link, Moments
from gplens.processes.process import Marginals, Process

ACCURACY = 1e-10
"""The stated accuracy of the moments of every exact link, relative to |value|."""
T = TypeVar("T")
Partials = tuple[Float[Tensor, "b o q"], Float[Tensor, "b o q"], Float[Tensor, "b o q"] | None]
"""psi, psi_m and psi_v of each output with respect to its own latent function."""


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


class Elementwise(Expectation):
    """One output for each latent function, which depends on that latent function alone."""

    def count(self, latents: int) -> int:
        return latents

    def narrowed(self, process: Process, outputs: tuple[int, ...]) -> tuple[Process, Expectation, tuple[int, ...]]:
        if outputs == tuple(range(process.latents)):
            return process, self, outputs
        return process.select(outputs), self.select(outputs), tuple(range(len(outputs)))

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """The partial derivatives with respect to the other latent functions are zero."""
        value, by_m, by_v = self.partials(marginals, outputs)
        if (m := marginals.m).shape[1] == 1:
            return Jet(value, by_m[:, :, None], None if by_v is None else by_v[:, :, None])
        chosen = torch.eye(m.shape[1], dtype=m.dtype)[list(outputs), :, None]
        return Jet(value, by_m[:, :, None] * chosen, None if by_v is None else by_v[:, :, None] * chosen)

    @abstractmethod
    def select(self, outputs: tuple[int, ...]) -> "Elementwise":
        """The same expectation of some of the outputs."""

    @abstractmethod
    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        """psi, psi_m and psi_v of the requested outputs."""


@final
@dataclass(frozen=True)
class ExpectedLink(Elementwise):
    """psi = E g(f),  psi_m = E g',  psi_v = 1/2 E g''  (2.1), with a link for each output, or one for all."""

    links: tuple[Link, ...]

    @property
    def accuracy(self) -> float:
        return ACCURACY if all(link.exact for link in self.links) else torch.inf

    def select(self, outputs: tuple[int, ...]) -> "ExpectedLink":
        return ExpectedLink(selected(self.links, outputs))

    def link_of(self, output: int) -> Link | None:
        link = self.links[output if len(self.links) > 1 else 0]
        return link if link.exact else None

    def resolution(self, marginals: Marginals) -> Float[Tensor, "b c q"] | None:
        if not any(link.needs_variance for link in self.links):
            return None
        v = marginals.v  # first: what it needs is then evaluated together with the mean
        return resolution_of(self.links, marginals.m, v)

    def slopes(
        self, f: Float[Tensor, "s l q"], extra: Float[Tensor, "l q"], outputs: tuple[int, ...]
    ) -> Float[Tensor, "s o l q"]:
        """g' at the latent value of each output, zero for the other latent functions."""
        out = f.new_zeros(len(f), len(outputs), *f.shape[1:])
        for i, output in enumerate(outputs):
            link = self.link_of(output)
            if link is None:
                return super().slopes(f, extra, outputs)
            latent, v = f[:, output], extra[output].expand(f[:, output].shape)
            out[:, i, output] = link.moments(latent, v).slope if bool(v.any()) else link.derivative(latent)
        return out

    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        m, every = marginals.m, outputs == tuple(range(marginals.m.shape[1]))
        m = m if every else m[:, list(outputs)]
        if not any(link.needs_variance for link in self.links):
            moments = moments_of(self.links, m, torch.zeros_like(m), outputs)
            return moments.value, moments.slope, None
        v = marginals.v if every else marginals.v[:, list(outputs)]
        moments = moments_of(self.links, m, v, outputs)
        return moments.value, moments.slope, moments.curvature / 2  # (2.1)


def moments_of(
    links: tuple[Link, ...], m: Float[Tensor, "b o q"], v: Float[Tensor, "b o q"], outputs: tuple[int, ...]
) -> Moments:
    """The moments of the link of each output."""
    if len(links) == 1:
        return links[0].moments(m, v)
    by_output = [links[c].moments(m[:, i], v[:, i]) for i, c in enumerate(outputs)]
    return Moments(*(torch.stack(parts, dim=1) for parts in zip(*by_output, strict=True)))


def resolution_of(
    links: tuple[Link, ...], m: Float[Tensor, "b c q"], v: Float[Tensor, "b c q"]
) -> Float[Tensor, "b c q"]:
    """The resolution of the link of each latent function."""
    if len(links) == 1:
        return links[0].resolution(m, v)
    return torch.stack([link.resolution(m[:, c], v[:, c]) for c, link in enumerate(links)], dim=1)


def selected(per_output: tuple[T, ...], outputs: tuple[int, ...]) -> tuple[T, ...]:
    """The entries of some outputs; a single entry stands for all outputs."""
    return per_output if len(per_output) == 1 else tuple(per_output[c] for c in outputs)
