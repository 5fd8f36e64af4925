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

    def column(self, name: str) -> Float[Tensor, " b"]:
        """One feature."""
        return self.X[:, self.feature_names.index(name)]
