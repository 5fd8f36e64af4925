"""The question that is integrated along paths, what a quadrature rule sees of it, and what it returns (MATH 4)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.expectations.expectation import Expectation
from gplens.lines.switches import Switches
from gplens.paths.nested import nested_rule
from gplens.paths.panels import Panels, ratio
from gplens.processes.one_hot_process import OneHotProcess
from gplens.processes.process import CUTS, Process


@final
@dataclass(frozen=True)
class Question:
    """What is explained, and how exactly: everything but the inputs, the baselines and the rule."""

    process: Process
    expectation: Expectation
    outputs: tuple[int, ...]
    tolerance: float
    switches: Switches | None = None
    """Blocks of columns that paths switch at once (10.1); None if no path changes one."""
    shares: OneHotProcess | None = None
    """The latent functions of numbers and shares of categories (10.3), where they say all of the target."""


class KeptNodes(ABC):
    """What was computed at the nodes of panels, so that a rule with these nodes and more computes only the others."""

    @abstractmethod
    def take(self, chosen: Bool[Tensor, " s"]) -> "KeptNodes | None":
        """Those of some panels; None if they are too few to be worth it."""


@final
@dataclass(frozen=True, eq=False)
class PanelSums:
    """Integrals over panels."""

    values: Float[Tensor, "s o d"]
    error: Float[Tensor, "s o d"]
    """The error of the lower rule if that of the rule itself may be far smaller, else the estimated error itself."""
    missed: Float[Tensor, "s o d"] | None = None
    """What comes on top of it, however small the error of the rule is: what pieces of panels miss (4.10)."""
    difference: Float[Tensor, "s o"] | None = None
    """The rule less the lower one, summed over the features, if the error is that of the lower rule."""
    decay: Float[Tensor, "s o"] | None = None
    """The ratio of the largest error to that of the next lower rule, if there are three rules."""
    steep: bool = False
    """Whether the link was integrated on pieces of a panel."""
    kept: KeptNodes | None = None
    """None if the nodes were too many to keep."""

    @staticmethod
    def of(sums: Float[Tensor, "s r o d"], missed: Float[Tensor, "s o"] | None, *, kinked: bool) -> "PanelSums":
        """From the sums of a nested rule, and the part of them that pieces of panels miss."""
        values, size = sums[:, 0], sums[:, 0].abs().amax(2, keepdim=True)
        beside = None if missed is None else missed[..., None] * size.expand_as(values)
        if kinked:
            return PanelSums(values, sums[:, 1:].abs().amax(1), beside, steep=missed is not None)
        error, decay = sums[:, 1].abs(), None
        if sums.shape[1] > 2:
            decay = ratio(error.amax(2), sums[:, 2].abs().amax(2))
        return PanelSums(values, error, beside, sums[:, 1].sum(2), decay, missed is not None)


def joined_sums(blocks: list[PanelSums]) -> PanelSums:
    """Several sets of panels as one."""

    def joined(parts: "list[Tensor | None]") -> Tensor | None:
        known = [part for part in parts if part is not None]
        like = [block.values if part is None else part for block, part in zip(blocks, parts, strict=True)]
        if not known:
            return None
        return torch.cat([torch.zeros_like(p) if part is None else part for p, part in zip(like, parts, strict=True)])

    values, error = torch.cat([block.values for block in blocks]), torch.cat([block.error for block in blocks])
    missed, difference, decay = (
        joined([getattr(block, name) for block in blocks]) for name in ("missed", "difference", "decay")
    )
    return PanelSums(values, error, missed, difference, decay, any(block.steep for block in blocks))


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
    def least_nodes(self) -> int:
        """The fewest nodes of a panel that are worth trying."""
        return 9

    @property
    @abstractmethod
    def kinks(self) -> Float[Tensor, "b k"]:
        """The places t at which the gradient is known to have kinks; those outside (0, 1) do not count."""

    @property
    def kinked(self) -> bool:
        """Whether there are so many kinks that panels do not begin at them."""
        return self.kinks.shape[1] > CUTS

    @abstractmethod
    def take(self, rows: Int[Tensor, " k"]) -> "Integrand":
        """The same along some of the paths."""

    def panel_sums(self, panels: Panels, count: int, tolerance: float, kept: KeptNodes | None) -> PanelSums:
        """The integrals over panels by a nested rule of so many nodes, given what was kept of a lower one."""
        rule = nested_rule(count, kinked=self.kinked, smooth=self.smooth)
        nodes = panels.start[:, None] + panels.width[:, None] * rule.t
        sums = self.sums(panels.owner, nodes, panels.width[:, None, None] * rule.channels)
        return PanelSums.of(sums, None, kinked=self.kinked)

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
