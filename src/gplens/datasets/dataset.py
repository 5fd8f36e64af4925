"""A table with its targets and names."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor


@final
@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs, targets and the names of the features."""

    X: Float[Tensor, "b d"]
    y: Float[Tensor, " b"]
    feature_names: tuple[str, ...]
    description: str
    """Where it comes from, and its units."""
    latent: Float[Tensor, "b c"] | None = None
    """The latent values from which synthetic targets were drawn."""

    def column(self, name: str) -> Float[Tensor, " b"]:
        """One feature."""
        return self.X[:, self.feature_names.index(name)]


@final
@dataclass(frozen=True, eq=False)
class Split:
    """A training set and a test set."""

    train: Dataset
    test: Dataset
