"""Attributions of a table of inputs, and the assembly of blocks of rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.paths.integrand import Integral


@final
@dataclass(frozen=True)
class Attribution:
    """Integrals over paths, and the targets at both ends."""

    integral: Integral
    start: Float[Tensor, "b o"]
    """T(x0)."""
    end: Float[Tensor, "b o"]
    """T(x)."""
    standard_error: Float[Tensor, "b o d"] | None = None
    """The standard error of the values, if they are averages over draws; else None."""
    background_std: Float[Tensor, "b o g"] | None = None
    """The standard deviation of the values over the rows of a background (4.12); None for a single baseline."""

    @property
    def gap(self) -> Float[Tensor, "b o"]:
        """sum_k IG_k - (T(x) - T(x0))  (4.4)."""
        return self.integral.values.sum(2) - (self.end - self.start)

    def largest(self) -> Float[Tensor, "b o"]:
        """The larger of |T(x) - T(x0)| and the largest |attribution|, to which tolerances are relative (4.8)."""
        return torch.maximum((self.end - self.start).abs(), self.integral.values.abs().amax(2))

    def replaced(self, rows: Bool[Tensor, " b"], again: "Attribution") -> "Attribution":
        """With some rows replaced by new results. Numbers of nodes are added."""

        def put(old: Tensor | None, new: Tensor | None) -> Tensor | None:
            return None if old is None or new is None else old.index_put((rows,), new)

        return Attribution(
            self.integral.replaced(rows, again.integral),
            self.start.index_put((rows,), again.start),
            self.end.index_put((rows,), again.end),
            put(self.standard_error, again.standard_error),
            put(self.background_std, again.background_std),
        )


def written_in_place(blocks: Iterator[Attribution], rows: int) -> Attribution:
    """Join blocks of rows. Each block is written to its place, so that the result never exists twice in memory."""
    whole, done = None, 0
    for block in blocks:
        whole, size = whole or empty_like(block, rows), block.end.shape[0]
        for target, tensor in zip(tensors_of(whole), tensors_of(block), strict=True):
            target[done : done + size] = tensor
        done += size
    assert whole is not None
    return whole


def empty_like(block: Attribution, rows: int) -> Attribution:
    """An empty result for `rows` rows."""

    def room(tensor: Tensor) -> Tensor:
        return tensor.new_empty(rows, *tensor.shape[1:])

    integral = block.integral
    parts = integral.error, integral.converged, integral.estimate
    error, converged, estimate = (None if part is None else room(part) for part in parts)
    empty = Integral(room(integral.values), error, room(integral.nodes), converged, estimate)
    std = None if block.background_std is None else room(block.background_std)
    return Attribution(empty, room(block.start), room(block.end), background_std=std)


def tensors_of(attribution: Attribution) -> list[Tensor]:
    """All tensors of the attribution, in a fixed order."""
    integral, ends = attribution.integral, (attribution.start, attribution.end, attribution.background_std)
    parts = integral.values, integral.error, integral.nodes, integral.converged, integral.estimate, *ends
    return [part for part in parts if part is not None]
