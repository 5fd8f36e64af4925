"""What a quadrature rule integrates, and what it returns (MATH 4)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.paths.panels import Nodes


class Integrand(ABC):
    """A gradient along b paths, as a rule uses it: weighted sums over nodes, and what these have to add up to."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number b of paths."""

    @property
    @abstractmethod
    def change(self) -> Float[Tensor, "b o"]:
        """T(x) - T(x0)."""

    @property
    @abstractmethod
    def rounding(self) -> Float[Tensor, "b o"]:
        """The size of the rounding error of `change`."""

    @property
    @abstractmethod
    def floor(self) -> float:
        """The absolute error of the target itself, which no refinement removes."""

    @property
    @abstractmethod
    def gap_floor(self) -> Float[Tensor, "b o"]:
        """The gap that a path may leave although it is integrated exactly; infinite for a named approximation."""

    @property
    @abstractmethod
    def length(self) -> Float[Tensor, " b"]:
        """The length of the paths in lengthscales."""

    @abstractmethod
    def sums(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"]
    ) -> Float[Tensor, "s r o d"]:
        """d_k sum_q weights_q d_k T(x(t_q)) on the paths `rows`."""


@final
@dataclass(frozen=True)
class Integral:
    """The result of a rule."""

    values: Float[Tensor, "b o d"]
    error: Float[Tensor, "b o d"] | None
    """Estimated error of every value; None if the rule has no estimate."""
    nodes: Int[Tensor, " b"]
    """The number of nodes at which each path was evaluated."""
    converged: Bool[Tensor, " b"] | None
    """Whether the tolerance was met; None if the rule has no estimate."""


class Rule(ABC):
    """How the integral over a path is computed."""

    @abstractmethod
    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """The integrals over all paths, to a relative tolerance (4.8)."""


def allowed_error(
    integrand: Integrand, rows: Int[Tensor, " s"], values: Float[Tensor, "s o d"], tolerance: float
) -> Float[Tensor, "s o"]:
    """The tolerance times the larger of |T(x) - T(x0)| and the largest |attribution| (4.8), plus the target's floor."""
    largest = torch.maximum(integrand.change[rows].abs(), values.abs().amax(2))
    return tolerance * (largest + integrand.rounding[rows]) + integrand.floor


class FixedRule(Rule):
    """A rule with the same nodes and weights on [0, 1] for every path, whatever the tolerance."""

    @abstractmethod
    def nodes_and_weights(self) -> tuple[Nodes, Nodes, Nodes | None]:
        """Nodes, weights, and the weights of a coarser rule on the same nodes, or None."""

    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """The weighted sums, with the difference to the coarser rule as the error."""
        t, w, coarse = self.nodes_and_weights()
        b = integrand.rows
        channels = torch.as_tensor(np.stack([w] if coarse is None else [w, w - coarse]))
        rows = torch.arange(b)
        sums = integrand.sums(rows, torch.as_tensor(t).expand(b, -1), channels.expand(b, -1, -1))
        values, count = sums[:, 0], torch.full((b,), len(t))
        if coarse is None:
            return Integral(values, None, count, None)
        error = sums[:, 1].abs()
        met = (error <= allowed_error(integrand, rows, values, tolerance)[..., None]).flatten(1).all(1)
        return Integral(values, error, count, met)
