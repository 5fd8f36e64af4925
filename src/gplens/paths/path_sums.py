"""Integrals over paths with their estimated errors, while rows are refined apart from each other (MATH 4.9)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@final
@dataclass(frozen=True)
class PathSums:
    """Integrals of some paths, their estimated errors, and their numbers of nodes."""

    values: Float[Tensor, "b o d"]
    error: Float[Tensor, "b o d"]
    worst: Float[Tensor, "b o"]
    """The sum over panels of the largest error of a feature."""
    nodes: Int[Tensor, " b"]
    uninformed: Bool[Tensor, " b"]
    """Paths on which the errors of features cancel, so that attributions add up however large the errors are."""

    def replaced(self, rows: Bool[Tensor, " b"], again: "PathSums") -> "PathSums":
        """With some paths done again. Numbers of nodes add up."""
        return PathSums(
            self.values.index_put((rows,), again.values),
            self.error.index_put((rows,), again.error),
            self.worst.index_put((rows,), again.worst),
            self.nodes.index_put((rows,), again.nodes, accumulate=True),
            self.uninformed.index_put((rows,), again.uninformed),
        )


def joined_paths(parts: list[PathSums], order: Int[Tensor, " b"]) -> PathSums:
    """Several sets of paths as one, in another order."""
    columns = zip(*((part.values, part.error, part.worst, part.nodes, part.uninformed) for part in parts), strict=True)
    return PathSums(*(torch.cat(column)[order] for column in columns))
