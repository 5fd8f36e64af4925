"""The straight path from a baseline to an input, the memory of its tensors, and functions along it (MATH 4)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.forms import Form, embed
from gplens.lines.pull_back_weights import Weights

SIZE = 2**22 - 2**10
"""Numbers: just below 32 MB, the largest piece that glibc's malloc keeps when it is freed. Recipe:
benchmarks/blocks.py"""
ALIGNED = 8
"""Tensors begin at multiples of so many numbers, where vector instructions are fastest."""


@final
class Scratch:
    """Tensors of a block of rows, cut from one piece of memory; `reset` makes all of it available to the next block.

    The system clears every page of newly allocated memory, which takes longer than the arithmetic on it. The code that
    integrates a table holds one of these, and no tensor of it outlives its block. The memory is one
    piece, because glibc's malloc keeps a piece of up to 32 MB for the next call, and returns several that add up to
    more than twice the largest of them to the system.
    """

    def __init__(self) -> None:
        self.memory = torch.empty(SIZE, dtype=torch.float64)
        self.taken = 0

    def reset(self) -> None:
        self.taken = 0

    def empty(self, shape: tuple[int, ...]) -> Tensor:
        """An uninitialised float64 tensor; newly allocated if the memory is used up."""
        first, last = self.taken, self.taken + prod(shape)
        if last > len(self.memory):
            return torch.empty(shape, dtype=torch.float64)
        self.taken = -(-last // ALIGNED) * ALIGNED
        return self.memory[first:last].view(shape)


@final
@dataclass(frozen=True)
class Line:
    """x(t) = x0 + t d at the nodes t, for b rows at once. A baseline that all rows share is stored as one row."""

    x0: Float[Tensor, "#b d"]
    d: Float[Tensor, "b d"]
    t: Float[Tensor, "b q"]
    scratch: Scratch | None = None
    """Scratch memory for the large tensors of this line; None to allocate new memory."""

    def empty(self, *shape: int) -> Tensor:
        """An uninitialised tensor like the given one, in the scratch memory of the line if it has one."""
        return self.d.new_empty(shape) if self.scratch is None else self.scratch.empty(shape)

    def empty_like(self, tensor: Tensor) -> Tensor:
        return self.empty(*tensor.shape)

    @staticmethod
    def at(X: Float[Tensor, "b d"]) -> "Line":
        """The points X themselves, as lines with a single node."""
        return Line(X, torch.zeros_like(X), X.new_zeros(X.shape[0], 1))

    def points(self) -> Float[Tensor, "b q d"]:
        """All nodes as inputs. O(qd) a row, so only for functions without structure along a line."""
        return self.x0[:, None, :] + self.t[:, :, None] * self.d[:, None, :]

    def columns(self, dims: Int[Tensor, " k"]) -> "Line":
        """The same line in a subset of the features."""
        return Line(self.x0[:, dims], self.d[:, dims], self.t, self.scratch)

    def baseline_form(self, C: Float[Tensor, "b p"], factor: Float[Tensor, " d"]) -> Form:
        """C (factor o x0) as a form, with one shared row if all rows share the baseline."""
        if self.x0.shape[0] == 1:
            return Form(shared=((C[..., None], factor * self.x0),))
        return Form(by_row=((C[..., None], factor[None], self.x0),))

    def split(self, rows: int) -> "list[Line]":
        """The same lines in blocks of `rows` rows."""
        blocks = -(-self.d.shape[0] // rows)
        baselines = [self.x0] * blocks if self.x0.shape[0] == 1 else self.x0.split(rows)
        return [Line(*block) for block in zip(baselines, self.d.split(rows), self.t.split(rows), strict=True)]


PullBack = Callable[[Weights], Form]
ByNode = Callable[[Float[Tensor, "b p q *rest"]], Float[Tensor, "b p q d"]]


@final
@dataclass(frozen=True)
class Section:
    """A function h(x) along a line: one value per node, or one for each node and support point.

    `pull_back(W)` is the vector-Jacobian product  sum_{q,rest} W_{q,rest} d_k h_rest(x_q)  for p channels of weights.
    It returns a Form, so that a sum of sections is multiplied out only once. `by_node(W)` is the same product before
    the sum over q, and costs q times as much. Sections add and multiply as functions do, which is all that composite
    kernels need.
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
        """A section over the features `dims` as a section over all features; the derivatives in the others are zero."""
        return Section(
            self.values,
            lambda W: self.pull_back(W).embedded(dims, features),
            lambda W: embed(self.by_node(W), dims, features),
        )


def constant_section(values: Float[Tensor, "b q *rest"], features: int) -> Section:
    """The section of a function whose derivatives are zero."""
    return Section(
        values,
        lambda W: Form(),
        lambda W: W.new_zeros(()).expand(*W.shape[:3], features),
    )


def autograd_section(function: Callable[[Float[Tensor, "b q d"]], Float[Tensor, "b q *rest"]], line: Line) -> Section:
    """The section of any differentiable function, pulled back by reverse-mode autograd. O(qd) memory a row."""
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
    """The pull-back of a function without structure along the line: multiply the weights out, then sum over q."""
    return lambda W: Form(dense=(by_node(W.dense()).sum(2),))
