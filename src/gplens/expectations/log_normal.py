"""The variance of outcomes some of which are exponentials of Gaussian ones (MATH 2)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.elementwise import Partials, Variance
from gplens.processes.process import Marginals


@final
@dataclass(frozen=True)
class OutcomeVariance(Variance):
    """Var y with s = v + noise:  s where y is Gaussian,  e^(2m + s) (e^s - 1) where log y is  (2.10a)."""

    logarithmic: tuple[bool, ...]
    """Whether log y, rather than y, is Gaussian, for each output."""
    noise: tuple[float, ...]
    """For each output."""

    def select(self, outputs: tuple[int, ...]) -> "OutcomeVariance":
        return OutcomeVariance(tuple(self.logarithmic[o] for o in outputs), tuple(self.noise[o] for o in outputs))

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
        noise = v.new_tensor([self.noise[o] for o in outputs])[:, None]
        return m, v + noise, torch.tensor([self.logarithmic[o] for o in outputs])[:, None]


def _check_overflow(value: Tensor, m: Tensor, s: Tensor) -> None:
    if bool(value.isinf().any()):
        i = int((m + s).argmax())
        raise OverflowError(
            f"expected exponents 2m + 2s below 709 for the variance of e^f, got m={float(m.flatten()[i]):.6g} and "
            f"s={float(s.flatten()[i]):.6g}, where it overflows float64. The model is far too unsure there."
        )
