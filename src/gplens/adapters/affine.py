"""Affine maps of raw inputs to those of a model: what scalers, selections and rotations are (MATH 1.10)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor


class Affine(NamedTuple):
    """x' = x W + offset."""

    W: Float[Tensor, "d e"]
    offset: Float[Tensor, " e"]

    def __call__(self, x: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        """x'."""
        return x @ self.W + self.offset

    def then(self, other: "Affine") -> "Affine":
        """The one after the other."""
        return Affine(self.W @ other.W, self.offset @ other.W + other.offset)

    @staticmethod
    def identity(features: int) -> "Affine":
        """x' = x."""
        return Affine(torch.eye(features, dtype=torch.float64), torch.zeros(features, dtype=torch.float64))
