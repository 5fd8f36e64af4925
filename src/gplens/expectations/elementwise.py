"""Expectations of one latent function each: E g(f), the latent variance, the total variance (MATH 2)."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TypeVar, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import ACCURACY, Expectation, Jet
from gplens.expectations.link import Link, Moments
from gplens.processes.process import Marginals, Process

T = TypeVar("T")
Partials = tuple[Float[Tensor, "b o q"], Float[Tensor, "b o q"], Float[Tensor, "b o q"] | None]
"""psi, psi_m and psi_v of each output with respect to its own latent function."""


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
        m = marginals.m
        chosen = torch.eye(m.shape[1], dtype=m.dtype)[list(outputs), :, None]
        value, by_m, by_v = self.partials(marginals, outputs)
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
        return resolution_of(self.links, marginals.m, marginals.v)

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
        m = marginals.m[:, list(outputs)]
        if not any(link.needs_variance for link in self.links):
            moments = moments_of(self.links, m, torch.zeros_like(m), outputs)
            return moments.value, moments.slope, None
        moments = moments_of(self.links, m, marginals.v[:, list(outputs)], outputs)
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


class Variance(Elementwise):
    """A variance of each output, and the mean that it is taken around; mixtures add the spread of the means  (2.16)."""

    @abstractmethod
    def mean_partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        """psi, psi_m and psi_v of the mean."""


@final
@dataclass(frozen=True)
class LatentVariance(Variance):
    """psi = v + noise, with a noise for each output, or one for all."""

    noise: tuple[float, ...] = (0.0,)

    def select(self, outputs: tuple[int, ...]) -> "LatentVariance":
        return LatentVariance(selected(self.noise, outputs))

    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        v = marginals.v[:, list(outputs)]
        noise = v.new_tensor([self.noise[c if len(self.noise) > 1 else 0] for c in outputs])[:, None]
        return v + noise, torch.zeros_like(v), torch.ones_like(v)

    def mean_partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        m = marginals.m[:, list(outputs)]
        return m, torch.ones_like(m), None


@final
@dataclass(frozen=True)
class TotalVariance(Variance):
    """psi = E Var[y|f] + Var E[y|f] = E second(f) - (E g(f))^2, where second(f) = E[y^2|f]  (2.10)."""

    mean: tuple[Link, ...]
    second: tuple[Link, ...]

    def select(self, outputs: tuple[int, ...]) -> "TotalVariance":
        return TotalVariance(selected(self.mean, outputs), selected(self.second, outputs))

    def resolution(self, marginals: Marginals) -> Float[Tensor, "b c q"]:
        m, v = marginals.m, marginals.v
        return torch.minimum(resolution_of(self.mean, m, v), resolution_of(self.second, m, v))

    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        """psi_m = E second' - 2 E g E g',  psi_v = 1/2 E second'' - E g E g''."""
        m, v = (tensor[:, list(outputs)] for tensor in (marginals.m, marginals.v))
        g, h = moments_of(self.mean, m, v, outputs), moments_of(self.second, m, v, outputs)
        return (
            h.value - g.value**2,
            h.slope - 2 * g.value * g.slope,
            h.curvature / 2 - g.value * g.curvature,
        )

    def mean_partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        return ExpectedLink(self.mean).partials(marginals, outputs)


def selected(per_output: tuple[T, ...], outputs: tuple[int, ...]) -> tuple[T, ...]:
    """The entries of some outputs; a single entry stands for all outputs."""
    return per_output if len(per_output) == 1 else tuple(per_output[c] for c in outputs)
