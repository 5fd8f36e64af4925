"""m and v at the nodes of panels, reused by larger nested rules (MATH 4.9, 4.10)."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.lines.forms import Form
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
