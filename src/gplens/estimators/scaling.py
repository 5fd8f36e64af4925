"""Units: training sees standardised columns, the fitted model the user's own."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

NARROWEST = 1e-8
"""Spread over size of a column below which float64 has too few digits left to tell its rows apart."""


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
    shift, scale = X.mean(0), X.std(0, correction=0)
    constant = (X[0] == X).all(0)
    narrow = ~constant & (scale < NARROWEST * shift.abs())
    if bool(narrow.any()):
        k = int(narrow.nonzero()[0])
        raise ValueError(
            f"Column {k} has mean {float(shift[k]):.6g} and spread {float(scale[k]):.2g}, which leaves float64 too few "
            "digits. Subtract an offset from it, or leave it out."
        )
    return Scaling(torch.where(constant, X[0], shift), torch.where(constant, 1.0, scale))


def table(X: Float[Tensor, "n d"]) -> Scaling:
    """One scale for all columns, for those that share a unit, such as pixels."""
    shift = X.mean(0)
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
