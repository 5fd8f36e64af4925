"""The posterior probabilities of the ranks of features, with their names."""

from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.numbers import as_int

SHOWN = 10
"""Features and ranks that the text shows."""


@final
@dataclass(frozen=True, eq=False)
class RankProbabilities:
    """P(feature k has the r-th largest |attribution|), for every input and output.

    Example:
        >>> ranks = explanation.rank_probabilities()
        >>> ranks.among_first(2).sum(-1).round().tolist()
        [2.0, 2.0]
    """

    values: Float[Tensor, "b *c d d"]
    """The probability of feature k and rank r at [..., k, r]; r = 0 is the largest. Rows and columns add up to one."""
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    error: float
    """The largest standard error of the probabilities, which are counted in draws or in quasi Monte Carlo points."""
    frame_backend: str | None = None
    """The library in which `to_frame` answers, as that of the explanation; names are the explanation's too."""

    def among_first(self, k: int) -> Float[Tensor, "b *c d"]:
        """The probability that a feature is among the first k.

        Args:
            k: a whole number from 1 to the number of features.

        Raises:
            ValueError: if it is not.

        Example:
            >>> explanation.rank_probabilities().among_first(2).round().tolist()
            [[1.0, 1.0], [1.0, 1.0]]
        """
        return self.values[..., : checked_count(k, len(self.feature_names))].sum(-1)

    def to_frame(self) -> Any:
        """A frame with a row for each input, output, feature and rank. Ranks are counted from 1.

        Example:
            >>> list(explanation.rank_probabilities().to_frame())
            ['row', 'feature', 'rank', 'probability']
        """
        from gplens.explanation.export import frame_of

        shape = self.values.shape if self.output_names is not None else self.values[:, None].shape
        row, output, feature, rank = (
            grid.flatten() for grid in torch.meshgrid(*map(torch.arange, shape), indexing="ij")
        )
        columns: dict[str, Any] = {"row": row.numpy()}
        if self.output_names is not None:
            columns["output"] = [self.output_names[i] for i in output.tolist()]
        columns["feature"] = [self.feature_names[i] for i in feature.tolist()]
        columns |= {"rank": (rank + 1).numpy(), "probability": self.values.flatten().numpy()}
        return frame_of(columns, self.frame_backend)

    def __repr__(self) -> str:
        """A table for the first input and its first output."""
        b, outputs = len(self.values), self.output_names
        of_outputs = "" if outputs is None else f", {len(outputs)} outputs"
        head = (
            f"Ranks by |attribution| of {b} input{'' if b == 1 else 's'}{of_outputs}: probabilities +- {self.error:.1g}"
        )
        if b == 0:
            return head
        table = self.values[0] if outputs is None else self.values[0, 0]
        where = "input 0" if outputs is None else f"input 0, {outputs[0]}"
        expected = table @ torch.arange(len(table), dtype=table.dtype)
        order, shown = expected.argsort(stable=True).tolist()[:SHOWN], min(len(table), SHOWN)
        width = max(len(where), *(len(self.feature_names[k]) for k in order))
        ranks = "".join(f"{f'rank {r + 1}':>8}" for r in range(shown))
        lines = [
            f"    {self.feature_names[k]:<{width}}" + "".join(f"{p:8.3f}" for p in table[k, :shown]) for k in order
        ]
        return "\n".join([head, f"    {where:<{width}}{ranks}", *lines])


def checked_count(k: Any, features: int) -> int:
    """Check k, a number of first ranks."""
    count = as_int(k)
    if count is None or not 1 <= count <= features:
        raise ValueError(f"expected a whole number k from 1 to {features}, the number of features, got {k!r}.")
    return count
