"""The weights with which m and v at the nodes of lines enter the sums of a rule (MATH 4.1, 4.10)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.expectations.expectation import Jet
from gplens.paths.pieces import PieceSums


@final
@dataclass(frozen=True, eq=False)
class NodeWeights:
    """For the r sums of a rule, of o outputs each, at the nodes of lines."""

    by_m: Float[Tensor, "s ro c p"]
    by_v: Float[Tensor, "s ro c p"] | None
    """None if the target does not depend on v."""
    missed: Float[Tensor, "s o"] | None = None
    """The part of the sums that pieces of panels miss, NaN on lines that were not cut; None if none was."""

    @staticmethod
    def of(jet: Jet, weights: Float[Tensor, "s r q"]) -> "NodeWeights":
        """weights_q psi_q, and zero (not a product with zero) at the last nodes, which have no weight."""
        return NodeWeights(_weighted(weights, jet.by_m), None if jet.by_v is None else _weighted(weights, jet.by_v))

    def with_pieces(self, steep: Bool[Tensor, " s"], pieces: PieceSums, width: Float[Tensor, " k"]) -> "NodeWeights":
        """With the sums over pieces of the steep panels, whose widths are given."""
        missed = pieces.missed.new_full((len(steep), pieces.missed.shape[1]), torch.nan)
        missed[steep] = pieces.missed
        by_m, by_v = (
            None if part is None else _replaced(part, steep, width[:, None, None, None, None] * new)
            for part, new in ((self.by_m, pieces.by_m), (self.by_v, pieces.by_v))
        )
        assert by_m is not None
        return NodeWeights(by_m, by_v, missed)


def _weighted(weights: Float[Tensor, "s r q"], partials: Float[Tensor, "s o c p"]) -> Float[Tensor, "s ro c p"]:
    q, nodes = weights.shape[2], partials.shape[3]
    products = (weights[:, :, None, None] * partials[:, None, ..., :q]).flatten(1, 2)
    return products if q == nodes else torch.nn.functional.pad(products, (0, nodes - q))


def _replaced(
    weights: Float[Tensor, "s ro c p"], steep: Bool[Tensor, " s"], new: Float[Tensor, "k r o c q"]
) -> Float[Tensor, "s ro c p"]:
    new = torch.nn.functional.pad(new.flatten(1, 2), (0, weights.shape[3] - new.shape[4]))
    return weights.index_put((steep,), new)
