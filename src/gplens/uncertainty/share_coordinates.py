"""Questions about paths that change categories as questions in numbers and shares of categories (MATH 10.3)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

from jaxtyping import Float
from torch import Tensor

from gplens.paths.integrand import Question

Sets = Sequence[Sequence[int]]


@final
@dataclass(frozen=True, eq=False)
class ShareCoordinates:
    """A question with its sets of features, in coordinates in which paths that change categories are straight."""

    question: Question
    sets: Sets | None
    """Coordinates that are added up: those of each feature, or of each set of features."""
    original: Question

    @staticmethod
    def of(question: Question, sets: Sets | None) -> "ShareCoordinates":
        """The coordinates of a question; the inputs themselves if no path changes a category."""
        if question.shares is None:
            return ShareCoordinates(question, sets, question)
        blocks = question.shares.layout.blocks
        features = [[k] for k in range(len(blocks))] if sets is None else sets
        asked = replace(question, process=question.shares.process, switches=None, shares=None)
        return ShareCoordinates(asked, [[i for k in members for i in blocks[k]] for members in features], question)

    def points(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b e"]:
        """Inputs or baselines in these coordinates."""
        return x if self.original.shares is None else self.original.shares.layout.encode(x)

    def values(self, values: Float[Tensor, "b o d"]) -> Float[Tensor, "b o e"]:
        """Attributions in these coordinates; the attribution of a category is assigned to its first share."""
        if self.original.shares is None:
            return values
        layout = self.original.shares.layout
        spread_out = values.new_zeros(*values.shape[:-1], layout.width)
        spread_out[..., [block[0] for block in layout.blocks]] = values
        return spread_out

    def summed(self, values: Float[Tensor, "*b e"]) -> Float[Tensor, "*b d"]:
        """Sums over the coordinates of each feature."""
        return values if self.original.shares is None else self.original.shares.layout.summed(values)
