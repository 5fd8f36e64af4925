"""Quadrature rules as objects: fixed ones here, the adaptive default beside it (MATH 4)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.paths.panels import Nodes, gauss_kronrod, gauss_legendre


class Integrand(ABC):
    """A gradient along b paths, as a rule sees it: weighted sums over nodes, and what they must add up to."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """b."""

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
        """An absolute error that no refinement removes: that of the target itself."""

    @property
    @abstractmethod
    def gap_floor(self) -> Float[Tensor, "b o"]:
        """The gap that an exactly integrated path may leave; infinite for a named approximation."""

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
    """What a rule found."""

    values: Float[Tensor, "b o d"]
    error: Float[Tensor, "b o d"] | None
    """Estimated error of every value; None where the rule has no estimate."""
    nodes: Int[Tensor, " b"]
    """Nodes at which each path was evaluated."""
    converged: Bool[Tensor, " b"] | None
    """Whether the tolerance was met; None where the rule has no estimate."""


class Rule(ABC):
    """How the integral over a path is taken."""

    @abstractmethod
    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """The integrals of all paths. A fixed rule takes its nodes whatever the tolerance."""


def allowed(
    integrand: Integrand, rows: Int[Tensor, " s"], values: Float[Tensor, "s o d"], tolerance: float
) -> Float[Tensor, "s o"]:
    """The tolerance times the larger of |T(x) - T(x0)| and the largest |attribution| (4.8), and the target's floor."""
    largest = torch.maximum(integrand.change[rows].abs(), values.abs().amax(2))
    return tolerance * (largest + integrand.rounding[rows]) + integrand.floor


class FixedRule(Rule):
    """Nodes and weights on [0, 1] that are the same for every path."""

    @abstractmethod
    def nodes_and_weights(self) -> tuple[Nodes, Nodes, Nodes | None]:
        """Nodes, weights, and the weights of a coarser rule on the same nodes, or None."""

    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """The weighted sums, and the difference to the coarser rule as the error."""
        t, w, coarse = self.nodes_and_weights()
        b = integrand.rows
        channels = torch.as_tensor(np.stack([w] if coarse is None else [w, w - coarse]))
        rows = torch.arange(b)
        found = integrand.sums(rows, torch.as_tensor(t).expand(b, -1), channels.expand(b, -1, -1))
        values, used = found[:, 0], torch.full((b,), len(t))
        if coarse is None:
            return Integral(values, None, used, None)
        error = found[:, 1].abs()
        met = (error <= allowed(integrand, rows, values, tolerance)[..., None]).flatten(1).all(1)
        return Integral(values, error, used, met)


def _check_count(rule: object, count: int) -> None:
    if count < 1:
        raise ValueError(f"{type(rule).__name__} wants at least one node; got {count}.")


@final
@dataclass(frozen=True)
class GaussLegendre(FixedRule):
    """count nodes, exact for polynomials of degree 2 count - 1. No error estimate."""

    count: int

    def __post_init__(self) -> None:
        _check_count(self, self.count)

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        """From numpy."""
        return *gauss_legendre(self.count), None


@final
@dataclass(frozen=True)
class GaussKronrod(FixedRule):
    """count Gauss nodes and the count + 1 that extend them; the difference of the two is the error estimate."""

    count: int = 7

    def __post_init__(self) -> None:
        _check_count(self, self.count)

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, Nodes]:
        """From orthogonality (4.7)."""
        return gauss_kronrod(self.count)


@final
@dataclass(frozen=True)
class RiemannRight(FixedRule):
    """t = 1/count, 2/count, ..., 1, equal weights: the paper's rule. Its error falls like 1/count."""

    count: int

    def __post_init__(self) -> None:
        _check_count(self, self.count)

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        """Right end points."""
        return np.arange(1, self.count + 1) / self.count, np.full(self.count, 1 / self.count), None


@dataclass(frozen=True)
class _Even(FixedRule):
    """Evenly spaced nodes."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ValueError(f"{type(self).__name__} wants two nodes or more; got {self.count}.")


@final
@dataclass(frozen=True)
class RiemannLeft(_Even):
    """t = 0, 1/count, ..., equal weights. Its error falls like 1/count."""

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        """Left end points."""
        return np.arange(self.count) / self.count, np.full(self.count, 1 / self.count), None


@final
@dataclass(frozen=True)
class RiemannMiddle(_Even):
    """t = 1/(2 count), 3/(2 count), ..., equal weights. Its error falls like 1/count^2."""

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        """Mid points."""
        return (np.arange(self.count) + 0.5) / self.count, np.full(self.count, 1 / self.count), None


@final
@dataclass(frozen=True)
class Trapezoid(_Even):
    """t = 0, 1/(count - 1), ..., 1, half weights at the ends. Its error falls like 1/count^2."""

    def nodes_and_weights(self) -> tuple[Nodes, Nodes, None]:
        """Weights that sum to one; Captum's riemann_trapezoid has (count - 1)/count."""
        w = np.full(self.count, 1 / (self.count - 1))
        w[[0, -1]] /= 2
        return np.linspace(0, 1, self.count), w, None
