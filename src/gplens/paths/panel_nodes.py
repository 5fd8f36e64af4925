"""m, v and the target at the nodes of panels, kept while a nested rule grows, and the sums over them (MATH 4.9, 4.10)."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.expectations.expectation import Jet
from gplens.lines.pull_back import Form
from gplens.paths.integrand import KeptNodes
from gplens.paths.nested import NestedRule
from gplens.processes.process import Marginals

WORTH_KEEPING = 0.25
"""The part of the lines of a block below which nodes are evaluated again: weights are pulled back for all its lines."""


@final
@dataclass(frozen=True, eq=False)
class NodePart:
    """Some nodes of panels, evaluated together, on lines that may be more than the panels."""

    marginals: Marginals
    jet: Jet
    count: int
    """The number of nodes that have weights. The ends of the path may follow."""
    lines: Int[Tensor, " s"]
    """The line of each panel."""

    def of_panels(self, tensor: Float[Tensor, "e *c p"]) -> Float[Tensor, "s *c q"]:
        """A tensor of the lines and all nodes for the panels and the nodes with weights."""
        tensor = tensor[..., : self.count]
        return tensor if self.lines.shape[0] == tensor.shape[0] else tensor[self.lines]

    def pull_back(self, by_m: Float[Tensor, "s p c q"], by_v: Float[Tensor, "s p c q"] | None) -> Form:
        """The pull-back of weights of the panels."""
        form = self.marginals.pull_back(self._of_lines(by_m), None if by_v is None else self._of_lines(by_v))
        return form if self.lines.shape[0] == self.jet.value.shape[0] else form.take(self.lines)

    def _of_lines(self, weights: Float[Tensor, "s p c q"]) -> Float[Tensor, "e p c _"]:
        """Zero, not a product with zero, on other lines and at nodes without a weight."""
        e, nodes = self.jet.value.shape[0], self.jet.value.shape[2]
        if weights.shape[3] < nodes:
            weights = torch.nn.functional.pad(weights, (0, nodes - weights.shape[3]))
        if weights.shape[0] == e:
            return weights
        return weights.new_zeros(e, *weights.shape[1:]).index_copy_(0, self.lines, weights)


@final
@dataclass(frozen=True, eq=False)
class NodeWeights:
    """The weights of m and v at the nodes, for the r sums of a rule, of o outputs each."""

    by_m: Float[Tensor, "s r o c q"]
    by_v: Float[Tensor, "s r o c q"] | None
    """None if the target does not depend on v."""

    @staticmethod
    def of(by_m: Float[Tensor, "s o c q"], by_v: Float[Tensor, "s o c q"] | None, rule: NestedRule) -> "NodeWeights":
        """The weights of the rule times psi_m and psi_v."""
        channels = rule.channels[:, None, None]
        return NodeWeights(channels * by_m[:, None], None if by_v is None else channels * by_v[:, None])

    def replace_by_moments(
        self,
        panels: Bool[Tensor, " s"],
        by_m: Float[Tensor, "k o c q"],
        by_v: Float[Tensor, "k o c q"],
        rule: NestedRule,
    ) -> None:
        """On some panels, from  int psi P_j dt:  m and v are interpolated from the nodes  (4.10)."""
        self.by_m[panels] = by_m[:, None] @ rule.moments[:, None]
        if self.by_v is not None:
            self.by_v[panels] = by_v[:, None] @ rule.moments[:, None]


@final
class PanelNodes(Marginals, KeptNodes):
    """The nodes of panels, in parts that were evaluated one after the other."""

    def __init__(self, parts: tuple[NodePart, ...]) -> None:
        self.parts = parts

    @property
    def count(self) -> int:
        """The number of nodes of a panel."""
        return sum(part.count for part in self.parts)

    def take(self, chosen: Bool[Tensor, " s"]) -> "PanelNodes | None":
        if int(chosen.sum()) < WORTH_KEEPING * max(part.jet.value.shape[0] for part in self.parts):
            return None
        return PanelNodes(tuple(replace(part, lines=part.lines[chosen]) for part in self.parts))

    def means(self) -> Float[Tensor, "s c q"]:
        return _joined([part.of_panels(part.marginals.m) for part in self.parts])

    def variances(self) -> Float[Tensor, "s c q"]:
        return _joined([part.of_panels(part.marginals.v) for part in self.parts])

    def pull_back(self, wm: Float[Tensor, "s p c q"], wv: Float[Tensor, "s p c q"] | None) -> Form:
        form, first = Form(), 0
        for part in self.parts:
            nodes = slice(first, first + part.count)
            form, first = form + part.pull_back(wm[..., nodes], None if wv is None else wv[..., nodes]), nodes.stop
        return form

    def by_m(self) -> Float[Tensor, "s o c q"]:
        """psi_m at the nodes."""
        return _joined([part.of_panels(part.jet.by_m) for part in self.parts])

    def by_v(self) -> Float[Tensor, "s o c q"] | None:
        """psi_v at the nodes; None if the target does not depend on v."""
        partials = [part.of_panels(part.jet.by_v) for part in self.parts if part.jet.by_v is not None]
        return _joined(partials) if partials else None


def _joined(parts: list[Float[Tensor, "s *c _"]]) -> Float[Tensor, "s *c q"]:
    return parts[0] if len(parts) == 1 else torch.cat(parts, -1)
