"""The interface of baselines, and baselines that are given as inputs of the model."""

from abc import ABC, abstractmethod
from typing import final

from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder


class Baseline(ABC):
    """A baseline for each input, or a background of several rows that all inputs share.

    Example:
        >>> isinstance(gplens.baselines.Zeros(), gplens.baselines.Baseline)
        True
        >>> gplens.baselines.Sample(X).background
        True
    """

    names: tuple[str, ...] | None = None
    """Names of the columns; None if they came without names."""
    background: bool = False
    """Whether the explanation is an average over several baselines."""
    weights: Float[Tensor, " s"] | None = None
    """The share of each row of a background in the average, adding up to one; None if all rows have the same share."""

    def encoded(self, encoder: Encoder) -> "Baseline":
        """The same baseline in the inputs of a model that encodes its tables, with their names."""
        return self

    @abstractmethod
    def rows(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "#b s d"]:
        """s baselines for each input; with a first axis of one if all inputs share them."""


@final
class Inputs(Baseline):
    """Rows in the inputs of a model that encodes its tables, such as `mean_input_` of an estimator.

    Args:
        values: one row, or the rows of a background.
        name: how explanations name it.
        background: whether the explanation is the average over the rows.
        weights: of the rows of a background, adding up to one; equal if None.

    Example:
        >>> row = gplens.baselines.Inputs(torch.zeros(1, 2).double(), "the origin")
        >>> row
        the origin
    """

    def __init__(
        self,
        values: Float[Tensor, "s e"],
        name: str,
        *,
        background: bool = False,
        weights: Float[Tensor, " s"] | None = None,
    ) -> None:
        self.values, self.name, self.background, self.weights = values, name, background, weights

    def rows(self, X: Float[Tensor, "b e"]) -> Float[Tensor, "1 s e"]:
        return same_columns(self.values, X)[None]

    def __repr__(self) -> str:
        return self.name


def same_columns(background: Float[Tensor, "s k"], X: Float[Tensor, "b d"]) -> Float[Tensor, "s d"]:
    """The rows of a baseline, after a check that they have as many columns as X."""
    if background.shape[1] != X.shape[1]:
        raise ValueError(
            f"expected a baseline with the {X.shape[1]} columns of X, in the same order, got {background.shape[1]}."
        )
    return background
