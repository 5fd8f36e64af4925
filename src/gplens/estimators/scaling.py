"""Units: training sees standardised columns, the fitted model the user's own."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

NARROWEST = 1e-6
"""Spread over size of a column below which float64 leaves a Gaussian process too few digits of its distances."""


@final
@dataclass(frozen=True)
class Scaling:
    """x = shift + scale * z, column by column."""

    shift: Float[Tensor, " d"]
    scale: Float[Tensor, " d"]

    def apply(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
        """To standardised columns."""
        return (X - self.shift) / self.scale

    def undo(self, Z: Float[Tensor, "*c n d"]) -> Float[Tensor, "*c n d"]:
        """Back to the user's."""
        return self.shift + self.scale * Z


def columns(X: Float[Tensor, "n d"]) -> Scaling:
    """Each column to mean zero and deviation one. A constant column, which tells nothing, is only centred."""
    shift, scale, constant = average(X), X.std(0, correction=0), _constant(X)
    narrow = ~constant & (scale < NARROWEST * shift.abs())
    if bool(narrow.any()):
        k = int(narrow.nonzero()[0])
        raise ValueError(
            f"Column {k} has mean {float(shift[k]):.6g} and spread {float(scale[k]):.2g}, which leaves float64 too few "
            "digits. Subtract an offset from it, or leave it out."
        )
    return Scaling(shift, torch.where(constant, 1.0, scale))


def average(X: Float[Tensor, "n d"]) -> Float[Tensor, " d"]:
    """The mean row; that of a constant column without rounding."""
    return torch.where(_constant(X), X[0], X.mean(0))


def _constant(X: Float[Tensor, "n d"]) -> Bool[Tensor, " d"]:
    return (X[0] == X).all(0)


def table(X: Float[Tensor, "n d"]) -> Scaling:
    """One scale for all columns, for those that share a unit, such as pixels."""
    shift = average(X)
    scale = (X - shift).square().mean().sqrt()
    return Scaling(shift, torch.where(scale > 0, scale, 1.0).expand_as(shift))


def none(X: Float[Tensor, "n d"]) -> Scaling:
    """Columns as they are."""
    return Scaling(torch.zeros_like(X[0]), torch.ones_like(X[0]))


SCALINGS = {"columns": columns, "table": table, "none": none}


def scaling_of(name: str, X: Float[Tensor, "n d"]) -> Scaling:
    """The one of that name for this table."""
    if name not in SCALINGS:
        raise ValueError(f"scaling={name!r}: wanted was one of {sorted(SCALINGS)}.")
    return SCALINGS[name](X)
