"""The question that is integrated along paths, what a quadrature rule sees of it, and what it returns (MATH 4)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.expectations.expectation import Expectation
from gplens.paths.panels import Panels, panel_weights
from gplens.processes.process import CUTS, Process


@final
@dataclass(frozen=True)
class Question:
    """What is explained, and how exactly: everything but the inputs, the baselines and the rule."""

    process: Process
    expectation: Expectation
    outputs: tuple[int, ...]
    tolerance: float


@final
@dataclass(frozen=True, eq=False)
class PanelSums:
    """Integrals over panels."""

    values: Float[Tensor, "s o d"]
    error: Float[Tensor, "s o d"]
    """The error of Gauss's rule if that of Kronrod's may be far smaller, else the estimated error itself."""
    difference: Float[Tensor, "s o"] | None
    """Kronrod - Gauss, summed over the features, if the error is that of Gauss's rule."""
    steep: Bool[Tensor, " s"] | None = None
    """Where the link was integrated on pieces of the panel (4.10), so that the error is the estimated one anyway."""

    @staticmethod
    def of(sums: Float[Tensor, "s r o d"], missed: Float[Tensor, "s o"] | None, *, kinked: bool) -> "PanelSums":
        """From sums with `panel_weights`, and what pieces miss of them, which is NaN for panels without pieces."""
        values, error = sums[:, 0], sums[:, 1:].abs().amax(1)
        difference = None if kinked else sums[:, 1].sum(2)
        if missed is None:
            return PanelSums(values, error, difference)
        error = error + missed.nan_to_num(nan=0.0)[..., None] * values.abs().amax(2, keepdim=True)
        return PanelSums(values, error, difference, ~missed[:, 0].isnan())


def joined_sums(parts: list[PanelSums], order: Int[Tensor, " s"]) -> PanelSums:
    """Several sets of panels as one, in another order."""
    values, error = (torch.cat(column)[order] for column in ([p.values for p in parts], [p.error for p in parts]))
    differences = [part.difference for part in parts if part.difference is not None]
    nowhere = [torch.zeros(len(part.values), dtype=torch.bool) for part in parts]
    steep = [none if part.steep is None else part.steep for part, none in zip(parts, nowhere, strict=True)]
    return PanelSums(values, error, torch.cat(differences)[order] if differences else None, torch.cat(steep)[order])


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

    @property
    @abstractmethod
    def smooth(self) -> bool:
        """Whether the gradient is analytic."""

    @property
    @abstractmethod
    def kinks(self) -> Float[Tensor, "b k"]:
        """The places t at which the gradient is known to have kinks; those outside (0, 1) do not count."""

    @property
    def kinked(self) -> bool:
        """Whether there are so many kinks that panels do not begin at them."""
        return self.kinks.shape[1] > CUTS

    def panel_sums(self, panels: Panels, rows: Int[Tensor, " s"], order: int, tolerance: float) -> PanelSums:
        """The integrals over panels of the paths `rows`, by 2 `order` + 1 nodes each."""
        t, weights = panel_weights(order, kinked=self.kinked)
        nodes = panels.start[:, None] + panels.width[:, None] * t
        return PanelSums.of(self.sums(rows, nodes, panels.width[:, None, None] * weights), None, kinked=self.kinked)

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
