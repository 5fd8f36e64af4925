"""The question that is integrated along paths, the interface of integrands and rules, and their result (MATH 4)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.expectations.expectation import Expectation
from gplens.lines.line import Line
from gplens.lines.switches import Switches
from gplens.paths.integrals import Integral, PathSums
from gplens.paths.nested import nested_rule
from gplens.paths.panel_sums import KeptNodes, PanelSums
from gplens.paths.panels import Panels
from gplens.processes.one_hot_process import OneHotProcess
from gplens.processes.process import CUTS, Process, numbers_on_a_line, rows_in_a_block

Targets = tuple[Float[Tensor, "b o"], Float[Tensor, "b o"]]
"""T(x) and T(x0)."""


@final
@dataclass(frozen=True)
class Question:
    """What is explained, and to which tolerance: everything except inputs, baselines and rule."""

    process: Process
    expectation: Expectation
    outputs: tuple[int, ...]
    tolerance: float
    switches: Switches | None = None
    """Blocks of columns that paths switch at once (10.1); None if no path changes one."""
    shares: OneHotProcess | None = None
    """The latent functions of numbers and shares of categories (10.3), if the target is affine in them; else None."""


def targets_on(question: Question, line: Line) -> Float[Tensor, "b o"]:
    """T at the only nodes of lines, in blocks of rows."""
    process, expectation = question.process, question.expectation
    blocks = line.split(rows_in_a_block(numbers_on_a_line(process, 1, 1)))
    return torch.cat([expectation.jet(process.along(block), question.outputs).value[:, :, 0] for block in blocks])


def finished(d: Float[Tensor, "b d"], end: Float[Tensor, "b o"], start: Float[Tensor, "#b o"]) -> Targets:
    """Set T(x) to T(x0), to the last bit, for inputs that equal their baseline, whatever the rounding of either."""
    return torch.where((d == 0).all(1, keepdim=True), start, end), start.expand(len(d), -1)


class Integrand(ABC):
    """A gradient along b paths, as a rule uses it: weighted sums over nodes, and the change that they add up to."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number b of paths."""

    @property
    @abstractmethod
    def change(self) -> Float[Tensor, "b o"]:
        """T(x) - T(x0), to which the attributions of a path add up."""

    @abstractmethod
    def allowed_error(self, values: Float[Tensor, "b o d"], tolerance: float) -> Float[Tensor, "b o"]:
        """The error that a relative tolerance allows for attributions with these values (4.8)."""

    @property
    @abstractmethod
    def gap_floor(self) -> Float[Tensor, "b o"]:
        """The gap that may remain after an exact integration; infinite for a named approximation."""

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
        """The places t at which the gradient is known to have kinks; places outside (0, 1) are ignored."""

    @property
    def kinked(self) -> bool:
        """Whether there are too many kinks to begin panels at them."""
        return self.kinks.shape[1] > CUTS

    @abstractmethod
    def take(self, rows: Int[Tensor, " k"]) -> "Integrand":
        """The same integrand on some of the paths."""

    def whole_paths(self, tolerance: float, reach: float) -> PathSums | None:
        """Integrals over whole paths without panels, with infinite errors where they fail; None if unavailable."""
        return None

    def panel_sums(self, panels: Panels, count: int, tolerance: float, kept: KeptNodes | None) -> PanelSums:
        """The integrals over panels by a nested rule with `count` nodes, given the evaluated nodes of a lower rule."""
        rule = nested_rule(count, kinked=self.kinked, smooth=self.smooth)
        nodes = panels.start[:, None] + panels.width[:, None] * rule.t
        sums = self.sums(panels.owner, nodes, panels.width[:, None, None] * rule.channels)
        return PanelSums.of(sums, None, kinked=self.kinked)

    @abstractmethod
    def sums(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"]
    ) -> Float[Tensor, "s r o d"]:
        """d_k sum_q weights_q d_k T(x(t_q)) on the paths `rows`."""


class Rule(ABC):
    """How the integral over a path is computed.

    Example:
        >>> isinstance(gplens.rules.Adaptive(), gplens.rules.Rule)
        True
    """

    adaptive: ClassVar[bool] = False
    """Whether a smaller tolerance makes the integrals more exact."""

    @abstractmethod
    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """The integrals over all paths, to a relative tolerance (4.8)."""
