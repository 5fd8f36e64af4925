"""m and v at the nodes of panels, reused by larger nested rules, and their weights in the sums (MATH 4.9, 4.10)."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.expectations.expectation import Jet
from gplens.lines.pull_back import Form
from gplens.paths.nested import NestedRule
from gplens.paths.panel_sums import KeptNodes
from gplens.processes.process import Marginals

WORTH_KEEPING = 0.25
"""If fewer than this part of the lines of a block are left, their nodes are evaluated again, since a pull-back is
computed for all lines of the block."""


@final
@dataclass(frozen=True, eq=False)
class Known:
    """Lengths and kinks of b lines, known before their gradients are evaluated."""

    length: Float[Tensor, " b"]
    kinks: Float[Tensor, "b k"]


@final
@dataclass(frozen=True, eq=False)
class NodePart:
    """Nodes of panels that were evaluated together. There may be more lines than panels."""

    marginals: Marginals
    count: int
    """The number of nodes."""
    lines: Int[Tensor, " s"]
    """The line of each panel."""

    def of_panels(self, tensor: Float[Tensor, "e *c p"]) -> Float[Tensor, "s *c q"]:
        """Select the panels, and the nodes that have weights, from a tensor of all lines and nodes."""
        tensor = tensor[..., : self.count]
        return tensor if self.lines.shape[0] == tensor.shape[0] else tensor[self.lines]

    def pull_back(self, by_m: Float[Tensor, "s p c q"], by_v: Float[Tensor, "s p c q"] | None) -> Form:
        """The pull-back of weights of the panels."""
        form = self.marginals.pull_back(self._of_lines(by_m), None if by_v is None else self._of_lines(by_v))
        return form if self.lines.shape[0] == self.marginals.m.shape[0] else form.take(self.lines)

    def _of_lines(self, weights: Float[Tensor, "s p c q"]) -> Float[Tensor, "e p c _"]:
        """Weights of all lines and nodes: exact zeros on other lines and at nodes without a weight."""
        e, nodes = self.marginals.m.shape[0], self.marginals.m.shape[2]
        if weights.shape[3] < nodes:
            weights = torch.nn.functional.pad(weights, (0, nodes - weights.shape[3]))
        if weights.shape[0] == e:
            return weights
        return weights.new_zeros(e, *weights.shape[1:]).index_copy_(0, self.lines, weights)


@final
class NodeValues(Marginals):
    """m and v as numbers, which do not depend on features."""

    def __init__(self, m: Float[Tensor, "b c q"], v: Float[Tensor, "b c q"]) -> None:
        self.known = m, v

    def means(self) -> Float[Tensor, "b c q"]:
        return self.known[0]

    def variances(self) -> Float[Tensor, "b c q"]:
        return self.known[1]

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        return Form()


@final
@dataclass(frozen=True, eq=False)
class NodeWeights:
    """The weights of m and v at the nodes, for the r sums of a rule, of o outputs each."""

    by_m: Float[Tensor, "s r o c q"]
    by_v: Float[Tensor, "s r o c q"] | None
    """None if the target does not depend on v."""

    @staticmethod
    def of(jet: Jet, channels: Float[Tensor, "#s r q"]) -> "NodeWeights":
        """The weights of a rule times psi_m and psi_v."""
        w = channels[:, :, None, None]
        return NodeWeights(w * jet.by_m[:, None], None if jet.by_v is None else w * jet.by_v[:, None])

    @staticmethod
    def spread(jet: Jet, matrix: Float[Tensor, "p rq"], sums: int) -> "NodeWeights":
        """From psi_m and psi_v at their own nodes to weights at the nodes that m and v are interpolated from (4.16)."""

        def of(partials: Float[Tensor, "s o c p"]) -> Float[Tensor, "s r o c q"]:
            return (partials @ matrix).unflatten(3, (sums, -1)).movedim(3, 1)

        return NodeWeights(of(jet.by_m), None if jet.by_v is None else of(jet.by_v))

    @staticmethod
    def of_moments(by_m: Float[Tensor, "s o c q"], by_v: Float[Tensor, "s o c q"], rule: NestedRule) -> "NodeWeights":
        """From  int psi P_j dt:  m and v are interpolated from the nodes  (4.10)."""
        return NodeWeights(*(part[:, None] @ rule.moments[:, None] for part in (by_m, by_v)))

    def sums(self, marginals: Marginals, d: Float[Tensor, "s d"]) -> Float[Tensor, "s r o d"]:
        """d_k sum_q [by_m d_k m + by_v d_k v]  (4.1)."""
        s, r, o = self.by_m.shape[:3]
        sums = self.pulled_back(marginals).evaluate(d.new_empty(s, r * o, d.shape[1]))
        return sums.mul_(d[:, None]).unflatten(1, (r, o))

    def pulled_back(self, marginals: Marginals) -> Form:
        """sum_q [by_m d_k m + by_v d_k v] as a form; its first channels are the outputs of the first sum."""
        return marginals.pull_back(self.by_m.flatten(1, 2), None if self.by_v is None else self.by_v.flatten(1, 2))

    @staticmethod
    def merged(chosen: Bool[Tensor, " s"], inside: "NodeWeights", outside: "NodeWeights") -> "NodeWeights":
        """Split into the weights of the chosen panels and those of the others."""

        def placed(a: Tensor, b: Tensor) -> Tensor:
            out = a.new_empty(chosen.shape[0], *a.shape[1:])
            out[chosen], out[~chosen] = a, b
            return out

        by_v = None
        if inside.by_v is not None:
            by_v = placed(inside.by_v, torch.zeros_like(outside.by_m) if outside.by_v is None else outside.by_v)
        return NodeWeights(placed(inside.by_m, outside.by_m), by_v)


@final
class PanelNodes(Marginals, KeptNodes):
    """The nodes of panels, in the parts in which they were evaluated."""

    def __init__(self, parts: tuple[NodePart, ...]) -> None:
        self.parts = parts

    @property
    def count(self) -> int:
        """The number of nodes of a panel."""
        return sum(part.count for part in self.parts)

    def take(self, chosen: Bool[Tensor, " s"]) -> "PanelNodes | None":
        if int(chosen.sum()) < WORTH_KEEPING * max(part.marginals.m.shape[0] for part in self.parts):
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


def _joined(parts: list[Float[Tensor, "s *c _"]]) -> Float[Tensor, "s *c q"]:
    return parts[0] if len(parts) == 1 else torch.cat(parts, -1)
