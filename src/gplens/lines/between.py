"""A kernel between the nodes of lines, row by row, with the derivatives in both arguments (MATH 5.12)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.pull_back import embed

Pairs = Float[Tensor, "b q p d *d"]
"""Features by features for each pair of nodes, or the diagonal of that."""
Matrix = Float[Tensor, "b d *d"]
"""The same after a sum over pairs of nodes."""


@final
@dataclass(frozen=True, eq=False)
class Between:
    """k(x_q, y_p) for nodes x_q and y_p of one line in each row. Adds and multiplies as functions do."""

    values: Float[Tensor, "b q p"]
    in_x: Callable[[], Float[Tensor, "b q p d"]]
    """What `by_x` is."""
    in_y: Callable[[], Float[Tensor, "b q p d"]]
    """What `by_y` is."""
    mixed: Callable[[bool], Pairs]
    """d_k d_l' k(x_q, y_p), for all pairs of features, or for k = l alone."""
    summed: Callable[[Float[Tensor, "b q p"], bool], Matrix] | None = None
    """A quicker way to  sum_qp H_qp d_k d_l' k(x_q, y_p), where the kernel has one."""

    @cached_property
    def by_x(self) -> Float[Tensor, "b q p d"]:
        """d_k k(x_q, y_p), computed once and only if it is looked at."""
        return self.in_x()

    @cached_property
    def by_y(self) -> Float[Tensor, "b q p d"]:
        """d_l' k(x_q, y_p), computed once and only if it is looked at."""
        return self.in_y()

    def mixed_sum(self, H: Float[Tensor, "b q p"], *, full: bool) -> Matrix:
        """sum_qp H_qp d_k d_l' k(x_q, y_p)."""
        if self.summed is not None:
            return self.summed(H, full)
        return torch.einsum("bqp,bqp...->b...", H, self.mixed(full))

    def __add__(self, other: "Between") -> "Between":
        return Between(
            self.values + other.values,
            lambda: self.by_x + other.by_x,
            lambda: self.by_y + other.by_y,
            lambda full: self.mixed(full) + other.mixed(full),
            lambda H, full: self.mixed_sum(H, full=full) + other.mixed_sum(H, full=full),
        )

    def __mul__(self, other: "Between") -> "Between":
        """The product rule, twice."""
        left, right = self.values[..., None], other.values[..., None]

        def mixed(full: bool) -> Pairs:
            one = (..., None, None) if full else (..., None)
            crossed = _outer(self.by_x, other.by_y, full) + _outer(other.by_x, self.by_y, full)
            return self.values[one] * other.mixed(full) + other.values[one] * self.mixed(full) + crossed

        return Between(
            self.values * other.values,
            lambda: self.by_x * right + other.by_x * left,
            lambda: self.by_y * right + other.by_y * left,
            mixed,
        )

    def scaled(self, factor: Float[Tensor, ""]) -> "Between":
        """factor * k."""
        return Between(
            factor * self.values,
            lambda: factor * self.by_x,
            lambda: factor * self.by_y,
            lambda full: factor * self.mixed(full),
            lambda H, full: factor * self.mixed_sum(H, full=full),
        )

    def embedded(self, dims: Int[Tensor, " k"], features: int) -> "Between":
        """k of some of the features as one of all of them: the others have derivative zero."""
        return Between(
            self.values,
            lambda: embed(self.by_x, dims, features),
            lambda: embed(self.by_y, dims, features),
            lambda full: embed_matrix(self.mixed(full), dims, features, full=full),
            lambda H, full: embed_matrix(self.mixed_sum(H, full=full), dims, features, full=full),
        )


def embed_matrix(
    inner: Float[Tensor, "*batch k"], dims: Int[Tensor, " k"], features: int, *, full: bool
) -> Float[Tensor, "*larger d"]:
    """Rows, and where there are both also columns, put into their places."""
    inner = embed(inner, dims, features)
    return embed(inner.mT, dims, features).mT if full else inner


def _outer(left: Float[Tensor, "b q p d"], right: Float[Tensor, "b q p d"], full: bool) -> Pairs:
    return left[..., None] * right[..., None, :] if full else left * right


def stack(rows: list[Between]) -> Between:
    """Rows that were computed one by one."""
    return Between(
        torch.cat([row.values for row in rows]),
        lambda: torch.cat([row.by_x for row in rows]),
        lambda: torch.cat([row.by_y for row in rows]),
        lambda full: torch.cat([row.mixed(full) for row in rows]),
    )
