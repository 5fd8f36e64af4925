"""Integrands with known integrals, as a rule sees them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import erf, exp, pi, sin, sqrt

import torch
from torch import Tensor

from gplens.paths.integrand import Integrand

Function = Callable[[Tensor], Tensor]
Known = tuple[Function, float]
"""A function on [0, 1] and its integral."""


@dataclass(frozen=True)
class Synthetic(Integrand):
    """Rows of functions, one for each feature; `change` is the sum of their integrals unless told otherwise."""

    functions: Sequence[Sequence[Known]]
    lengths: Sequence[float]
    stated: Sequence[float] | None = None
    gap_allowed: float = 0.0
    unknown_kinks: bool = False

    @property
    def rows(self) -> int:
        return len(self.functions)

    @property
    def exact(self) -> Tensor:
        return torch.tensor([[integral for _, integral in row] for row in self.functions], dtype=torch.float64)

    @property
    def change(self) -> Tensor:
        if self.stated is None:
            return self.exact.sum(1, keepdim=True)
        return torch.tensor(self.stated, dtype=torch.float64)[:, None]

    def allowed_error(self, values: Tensor, tolerance: float) -> Tensor:
        return tolerance * (torch.maximum(self.change.abs(), values.abs().amax(2)) + 2e-16 * self.change.abs())

    @property
    def gap_floor(self) -> Tensor:
        return torch.full_like(self.change, self.gap_allowed)

    @property
    def smooth(self) -> bool:
        return not self.unknown_kinks

    @property
    def kinks(self) -> Tensor:
        return torch.zeros(self.rows, 1000 if self.unknown_kinks else 0, dtype=torch.float64)

    @property
    def length(self) -> Tensor:
        return torch.tensor(self.lengths, dtype=torch.float64)

    def take(self, rows: Tensor) -> "Synthetic":
        chosen = rows.tolist()
        stated = None if self.stated is None else [self.stated[row] for row in chosen]
        return replace(
            self,
            functions=[self.functions[row] for row in chosen],
            lengths=[self.lengths[row] for row in chosen],
            stated=stated,
        )

    def sums(self, rows: Tensor, t: Tensor, weights: Tensor) -> Tensor:
        each = [torch.stack([f(t[s]) for f, _ in self.functions[row]], dim=1) for s, row in enumerate(rows.tolist())]
        return torch.einsum("srq,sqd->srd", weights, torch.stack(each))[:, :, None]


def one(function: Known, length: float = 0.0) -> Synthetic:
    return Synthetic([[function]], [length])


def bump(centre: float, width: float) -> Known:
    """exp(-((t - centre)/width)^2 / 2)."""
    z = width * sqrt(2)
    area = width * sqrt(pi / 2) * (erf((1 - centre) / z) + erf(centre / z))
    return lambda t: torch.exp(-(((t - centre) / width) ** 2) / 2), area


def corner(at: float) -> Known:
    """|t - at|: a kink in the first derivative."""
    return lambda t: (t - at).abs(), (at**2 + (1 - at) ** 2) / 2


def bend(at: float) -> Known:
    """(t - at) |t - at|: a kink in the second derivative, as Matern32 has it at a support point."""
    return lambda t: (t - at) * (t - at).abs(), ((1 - at) ** 3 - at**3) / 3


def waves(rate: float) -> Known:
    return lambda t: torch.cos(rate * t), sin(rate) / rate


SMOOTH: Known = (lambda t: torch.exp(2 * t), (exp(2) - 1) / 2)
ZERO: Known = (torch.zeros_like, 0.0)
NARROW = bump(0.552, 1 / 300)
"""About 1/50 wide, between the nodes 0.5 and 0.604 of the first look, where it is below 1e-50."""
NOISY: Known = (lambda t: 1 + 1e-7 * torch.sin(1e9 * t), 1.0)
