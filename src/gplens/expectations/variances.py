"""Variances of latent functions and outcomes; those of linear and exponential ones do not cancel (MATH 2)."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import (
    Elementwise,
    ExpectedLink,
    Partials,
    moments_of,
    resolution_of,
    selected,
)
from gplens.expectations.link import Link
from gplens.processes.process import Marginals


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


@final
@dataclass(frozen=True)
class ConditionalVariance(Variance):
    """psi = E Var[y|f] + rate^2 Var g(f), where E[y|f] = rate g(f) + offset  (2.10b). One for all outputs."""

    conditional: Link
    """Var[y|f]."""
    latent: Variance
    """Var g(f), with its mean."""
    rate: float = 1.0
    offset: float = 0.0

    def select(self, outputs: tuple[int, ...]) -> "ConditionalVariance":
        return self

    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        m, v = (tensor[:, list(outputs)] for tensor in (marginals.m, marginals.v))
        noise = self.conditional.moments(m, v)
        value, by_m, by_v = self.latent.partials(marginals, outputs)
        assert by_v is not None
        a2 = self.rate**2
        return noise.value + a2 * value, noise.slope + a2 * by_m, noise.curvature / 2 + a2 * by_v  # (2.10b)

    def mean_partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        value, by_m, by_v = self.latent.mean_partials(marginals, outputs)
        return self.rate * value + self.offset, self.rate * by_m, None if by_v is None else self.rate * by_v


@final
@dataclass(frozen=True)
class OutcomeVariance(Variance):
    """Var y with s = v + noise:  s where y is Gaussian,  e^(2m + s) (e^s - 1) where log y is  (2.10a)."""

    logarithmic: tuple[bool, ...]
    """Whether log y, rather than y, is Gaussian: for each output, or one for all."""
    noise: tuple[float, ...] = (0.0,)
    """The noise variance of each output, or one for all."""

    def select(self, outputs: tuple[int, ...]) -> "OutcomeVariance":
        return OutcomeVariance(selected(self.logarithmic, outputs), selected(self.noise, outputs))

    def partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        """psi_m = 2 psi,  psi_v = 2 e^(2m + 2s) - e^(2m + s)."""
        m, s, logarithmic = self._moments(marginals, outputs)
        size = torch.exp(2 * m + s)
        value = torch.where(logarithmic, size * torch.expm1(s), s)  # (2.10a)
        _check_overflow(value, m, s)
        by_v = torch.where(logarithmic, size * (2 * torch.exp(s) - 1), torch.ones_like(s))
        return value, torch.where(logarithmic, 2 * value, torch.zeros_like(m)), by_v

    def mean_partials(self, marginals: Marginals, outputs: tuple[int, ...]) -> Partials:
        """e^(m + s/2), its derivative by m, which is the same, and by v, which is half of it; or m."""
        m, s, logarithmic = self._moments(marginals, outputs)
        mean = torch.exp(m + s / 2)
        by_m, by_v = torch.where(logarithmic, mean, torch.ones_like(m)), torch.where(logarithmic, mean / 2, 0 * s)
        return torch.where(logarithmic, mean, m), by_m, by_v

    def _moments(
        self, marginals: Marginals, outputs: tuple[int, ...]
    ) -> tuple[Float[Tensor, "b o q"], Float[Tensor, "b o q"], Tensor]:
        m, v = (tensor[:, list(outputs)] for tensor in (marginals.m, marginals.v))
        noise = v.new_tensor(selected(self.noise, outputs))[:, None]
        return m, v + noise, torch.tensor(selected(self.logarithmic, outputs))[:, None]


def _check_overflow(value: Tensor, m: Tensor, s: Tensor) -> None:
    if bool(value.isinf().any()):
        i = int((m + s).argmax())
        raise OverflowError(
            f"expected exponents 2m + 2s below 709 for the variance of e^f, got m={float(m.flatten()[i]):.6g} and "
            f"s={float(s.flatten()[i]):.6g}, where it overflows float64. The model is far too unsure there."
        )
