"""The straight path from a baseline to an input, and functions seen along it (MATH 4)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.pull_back import Form, Weights, embed


@final
@dataclass(frozen=True)
class Line:
    """x(t) = x0 + t d at the nodes t, for b rows at once. A baseline shared by all rows is one row."""

    x0: Float[Tensor, "#b d"]
    d: Float[Tensor, "b d"]
    t: Float[Tensor, "b q"]

    def points(self) -> Float[Tensor, "b q d"]:
        """All of the nodes as inputs. O(qd) per row: only for functions without structure along a line."""
        return self.x0[:, None, :] + self.t[:, :, None] * self.d[:, None, :]

    def columns(self, dims: Int[Tensor, " k"]) -> "Line":
        """The same line seen in some of the features."""
        return Line(self.x0[:, dims], self.d[:, dims], self.t)

    def start(self, C: Float[Tensor, "b p"], factor: Float[Tensor, " d"]) -> Form:
        """C factor o x0: one row for all where the baseline is shared."""
        if len(self.x0) == 1:
            return Form(shared=((C[..., None], factor * self.x0),))
        return Form(own=((C, factor, self.x0),))

    def split(self, rows: int) -> "list[Line]":
        """The same lines in blocks of rows."""
        starts = [self.x0] * -(-len(self.d) // rows) if len(self.x0) == 1 else self.x0.split(rows)
        return [Line(*piece) for piece in zip(starts, self.d.split(rows), self.t.split(rows), strict=True)]

    @staticmethod
    def at(X: Float[Tensor, "b d"]) -> "Line":
        """The points X themselves, as lines of one node."""
        return Line(X, torch.zeros_like(X), X.new_zeros(X.shape[0], 1))


PullBack = Callable[[Weights], Form]
ByNode = Callable[[Float[Tensor, "b p q *rest"]], Float[Tensor, "b p q d"]]


@final
@dataclass(frozen=True)
class Section:
    """A function h(x) (one value per node, or one for each support point) along a line.

    `pull_back(W)` is the vector-Jacobian product  sum_{q,rest} W_{q,rest} d_k h_rest(x_q)  for p channels of weights at
    once; what comes back is a Form, so that sums of sections are multiplied out once. `by_node(W)` is the same before
    the sum over q, at q times the price.
    Sections add and multiply as functions do, which is all that composite kernels need.
    """

    values: Float[Tensor, "b q *rest"]
    pull_back: PullBack
    by_node: ByNode

    def __add__(self, other: "Section") -> "Section":
        return Section(
            self.values + other.values,
            lambda W: self.pull_back(W) + other.pull_back(W),
            lambda W: self.by_node(W) + other.by_node(W),
        )

    def __mul__(self, other: "Section") -> "Section":
        left, right = self.values, other.values
        return Section(
            left * right,
            lambda W: self.pull_back(W.times(right)) + other.pull_back(W.times(left)),
            lambda W: self.by_node(W * right[:, None]) + other.by_node(W * left[:, None]),
        )

    def scaled(self, factor: Float[Tensor, ""]) -> "Section":
        """factor * h."""
        return Section(
            factor * self.values, lambda W: self.pull_back(W.scaled(factor)), lambda W: factor * self.by_node(W)
        )

    def embedded(self, dims: Int[Tensor, " k"], features: int) -> "Section":
        """A section over some of the features as one over all of them: the others have derivative zero."""
        return Section(
            self.values,
            lambda W: self.pull_back(W).embedded(dims, features),
            lambda W: embed(self.by_node(W), dims, features),
        )


def constant_section(values: Float[Tensor, "b q *rest"], features: int) -> Section:
    """A function that does not change along the line."""
    return Section(
        values,
        lambda W: Form(),
        lambda W: W.new_zeros(()).expand(*W.shape[:3], features),
    )


def autograd_section(function: Callable[[Float[Tensor, "b q d"]], Float[Tensor, "b q *rest"]], line: Line) -> Section:
    """Any differentiable function of the points, its pull-back by reverse-mode autograd. O(qd) memory per row."""
    with torch.enable_grad():
        x = line.points().detach().requires_grad_()
        values = function(x)
    if not values.requires_grad:
        return constant_section(values, line.d.shape[1])

    def by_node(W: Float[Tensor, "b p q *rest"]) -> Float[Tensor, "b p q d"]:
        channels = [
            torch.autograd.grad(values, x, W[:, i], retain_graph=True, materialize_grads=True)[0]
            for i in range(W.shape[1])
        ]
        return torch.stack(channels, dim=1)

    return Section(values.detach(), summed(by_node), by_node)


def summed(by_node: ByNode) -> PullBack:
    """The pull-back of a function without structure along the line: the weights themselves, then the sum over q."""
    return lambda W: Form(dense=(by_node(W.whole()).sum(2),))
