"""Targets of one latent function each: expectations of links, the latent moments, the total variance (MATH 2)."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeVar, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import ACCURACY, Expectation, Jet
from gplens.expectations.link import Link, Moments
from gplens.links.closed_form import Identity
from gplens.processes.process import Marginals, Process

T = TypeVar("T")
Partials = tuple[Float[Tensor, "b o q"], Float[Tensor, "b o q"], Float[Tensor, "b o q"] | None]


class Elementwise(Expectation):
    """One output for each latent function, which depends on that one alone."""

    def count(self, latents: int) -> int:
        """As many as latent functions."""
        return latents

    def narrowed(self, process: Process, outputs: tuple[int, ...]) -> tuple[Process, Expectation, tuple[int, ...]]:
        """The latent functions of the outputs alone."""
        if outputs == tuple(range(process.latents)):
            return process, self, outputs
        return process.select(outputs), self.select(outputs), tuple(range(len(outputs)))

    @abstractmethod
    def select(self, outputs: tuple[int, ...]) -> "Elementwise":
        """The expectation of some of the outputs."""

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """The partials with respect to the other latent functions are zero."""
        m = marginals.m
        own = torch.eye(m.shape[1], dtype=m.dtype)[list(outputs), :, None]
        value, by_m, by_v = self.partials(marginals, outputs)
        return Jet(value, by_m[:, :, None] * own, None if by_v is None else by_v[:, :, None] * own)

    @abstractmethod
    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        """psi, psi_m, psi_v of each output with respect to its own latent function."""


@final
@dataclass(frozen=True)
class ExpectedLink(Elementwise):
    """psi = E g(f),  psi_m = E g',  psi_v = 1/2 E g''  (2.1), with a link for each output, or one for all."""

    links: tuple[Link, ...]

    @property
    def accuracy(self) -> float:
        """Infinite for a named approximation."""
        return ACCURACY if all(link.exact for link in self.links) else torch.inf

    def select(self, outputs: tuple[int, ...]) -> "ExpectedLink":
        """The links of these outputs."""
        return ExpectedLink(some(self.links, outputs))

    def link_of(self, output: int) -> Link | None:
        """Its own, if that is exact."""
        link = self.links[output if len(self.links) > 1 else 0]
        return link if link.exact else None

    def slopes(
        self, f: Float[Tensor, "s l q"], extra: Float[Tensor, "l q"], outputs: tuple[int, ...]
    ) -> Float[Tensor, "s o l q"]:
        """g' of each output's own latent value, zero in the others."""
        links = [self.link_of(output) for output in outputs]
        if any(link is None for link in links):
            return super().slopes(f, extra, outputs)
        out = f.new_zeros(len(f), len(outputs), *f.shape[1:])
        for i, (output, link) in enumerate(zip(outputs, links, strict=True)):
            assert link is not None
            own, v = f[:, output], extra[output].expand(f[:, output].shape)
            out[:, i, output] = link.moments(own, v).slope if bool(v.any()) else link.derivative(own)
        return out

    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        """The moments of the links."""
        m = marginals.m[:, list(outputs)]
        if not any(link.needs_variance for link in self.links):
            moments = moments_of(self.links, m, torch.zeros_like(m), outputs)
            return moments.value, moments.slope, None
        moments = moments_of(self.links, m, marginals.v[:, list(outputs)], outputs)
        return moments.value, moments.slope, moments.curvature / 2  # (2.1)


def moments_of(
    links: tuple[Link, ...],
    m: Float[Tensor, "b o q"],
    v: Float[Tensor, "b o q"],
    outputs: tuple[int, ...],
) -> Moments:
    """The moments of each output's own link."""
    if len(links) == 1:
        return links[0].moments(m, v)
    each = [links[c].moments(m[:, i], v[:, i]) for i, c in enumerate(outputs)]
    return Moments(*(torch.stack(parts, dim=1) for parts in zip(*each, strict=True)))


@final
@dataclass(frozen=True)
class LatentMean(Elementwise):
    """psi = m."""

    def select(self, outputs: tuple[int, ...]) -> "LatentMean":
        """The same for all outputs."""
        return self

    def link_of(self, output: int) -> Link:
        """The identity."""
        return Identity()

    def slopes(
        self, f: Float[Tensor, "s l q"], extra: Float[Tensor, "l q"], outputs: tuple[int, ...]
    ) -> Float[Tensor, "s o l q"]:
        """One for the output's own latent function."""
        return ExpectedLink((Identity(),)).slopes(f, extra, outputs)

    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        """psi_m = 1, and no variance."""
        m = marginals.m[:, list(outputs)]
        return m, torch.ones_like(m), None


@final
@dataclass(frozen=True)
class LatentVariance(Elementwise):
    """psi = v + noise, with the noise of each output, or one for all."""

    noise: tuple[float, ...] = (0.0,)

    def select(self, outputs: tuple[int, ...]) -> "LatentVariance":
        """The noise of these outputs."""
        return LatentVariance(some(self.noise, outputs))

    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        """psi_m = 0,  psi_v = 1."""
        v = marginals.v[:, list(outputs)]
        return v + chosen(self.noise, outputs, v), torch.zeros_like(v), torch.ones_like(v)


@final
@dataclass(frozen=True)
class TotalVariance(Elementwise):
    """psi = E Var[y|f] + Var E[y|f] = E second(f) - (E g(f))^2, where second(f) = E[y^2|f]  (2.10)."""

    mean: tuple[Link, ...]
    second: tuple[Link, ...]

    def select(self, outputs: tuple[int, ...]) -> "TotalVariance":
        """The links of these outputs."""
        return TotalVariance(some(self.mean, outputs), some(self.second, outputs))

    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        """psi_m = E second' - 2 E g E g',  psi_v = 1/2 E second'' - E g E g''."""
        m, v = (tensor[:, list(outputs)] for tensor in (marginals.m, marginals.v))
        g, h = moments_of(self.mean, m, v, outputs), moments_of(self.second, m, v, outputs)
        return (
            h.value - g.value**2,
            h.slope - 2 * g.value * g.slope,
            h.curvature / 2 - g.value * g.curvature,
        )


def some(per_output: tuple[T, ...], outputs: tuple[int, ...]) -> tuple[T, ...]:
    """What belongs to some of the outputs, where one may stand for all."""
    return per_output if len(per_output) == 1 else tuple(per_output[c] for c in outputs)


def chosen(per_output: tuple[float, ...], outputs: tuple[int, ...], like: Tensor) -> Float[Tensor, "o 1"]:
    """The numbers that belong to the outputs asked for, where one may stand for all."""
    return like.new_tensor([per_output[c if len(per_output) > 1 else 0] for c in outputs])[:, None]
