"""What a quadrature rule integrates, and what it returns (MATH 4)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

from jaxtyping import Bool, Float, Int
from torch import Tensor


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

    adaptive: ClassVar[bool] = False
    """Whether a smaller tolerance makes the integrals more exact."""

    @abstractmethod
    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """The integrals over all paths, to a relative tolerance (4.8)."""
