"""Variances without cancellation, for linear functions of f and for exponentials (MATH 2)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.elementwise import Partials, Variance, selected
from gplens.expectations.link import Link
from gplens.processes.process import Marginals


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
