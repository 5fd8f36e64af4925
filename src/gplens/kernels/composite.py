"""Kernels made of kernels: scaled, summed, multiplied, restricted to some features."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any, ClassVar, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.kernels.kernel import Kernel
from gplens.lines.between import Between, embed_matrix
from gplens.lines.line import Line, Section
from gplens.lines.quadratic import Quadratic


@final
@dataclass(frozen=True, eq=False)
class Scale(Kernel):
    """variance * k."""

    kernel: Kernel
    variance: Float[Tensor, ""]

    def parts(self) -> tuple[Kernel, ...]:
        """Those of the kernel inside."""
        return self.kernel.parts()

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """variance * k."""
        return self.variance * self.kernel(X, Z)

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """variance * k(x, x)."""
        return self.variance * self.kernel.diagonal(X)

    def along(self, line: Line, Z: Float[Tensor, "n d"]) -> Section:
        """variance * k."""
        return self.kernel.along(line, Z).scaled(self.variance)

    def along_diagonal(self, line: Line) -> Section:
        """variance * k(x, x)."""
        return self.kernel.along_diagonal(line).scaled(self.variance)

    def gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """variance * d k."""
        return self.variance * self.kernel.gradient(X, Y)

    def between(self, left: Line, right: Line) -> Between:
        """variance * k."""
        return self.kernel.between(left, right).scaled(self.variance)

    def fold(
        self, left: Line, right: Line, Z: Tensor, H: Tensor, A: Quadratic, *, full: bool
    ) -> Float[Tensor, "b d *d"]:
        """variance^2 times that of k."""
        return self.variance**2 * self.kernel.fold(left, right, Z, H, A, full=full)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """As the kernel inside."""
        return self.kernel.length(line)


@dataclass(frozen=True, eq=False)
class Compound(Kernel):
    """Kernels joined by one operation, which means the same for values and for sections along a line."""

    kernels: tuple[Kernel, ...]

    join: ClassVar[Callable[[Any, Any], Any]]
    """The operation on values and on sections."""
    join_lengths: ClassVar[Callable[[Tensor, Tensor], Tensor]]

    def parts(self) -> tuple[Kernel, ...]:
        """Those of all kernels inside."""
        return tuple(part for kernel in self.kernels for part in kernel.parts())

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """The values, joined."""
        return reduce(self.join, (k(X, Z) for k in self.kernels))

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """The variances, joined."""
        return reduce(self.join, (k.diagonal(X) for k in self.kernels))

    def along(self, line: Line, Z: Float[Tensor, "n d"]) -> Section:
        """The sections, joined; their pull-backs follow the rule of a sum or of a product."""
        return reduce(self.join, (k.along(line, Z) for k in self.kernels))

    def along_diagonal(self, line: Line) -> Section:
        """The sections, joined."""
        return reduce(self.join, (k.along_diagonal(line) for k in self.kernels))

    def between(self, left: Line, right: Line) -> Between:
        """The values between nodes, joined with their derivatives."""
        return reduce(self.join, (k.between(left, right) for k in self.kernels))

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """The lengths, joined."""
        return reduce(self.join_lengths, (k.length(line) for k in self.kernels))


@final
@dataclass(frozen=True, eq=False)
class Sum(Compound):
    """k1 + k2 + ...  As long as its longest: the term that forgets first needs the most panels."""

    join = staticmethod(add)
    join_lengths = staticmethod(torch.maximum)

    def gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """The sum of the terms'."""
        return reduce(add, (k.gradient(X, Y) for k in self.kernels))


@final
@dataclass(frozen=True, eq=False)
class Product(Compound):
    """k1 * k2 * ...  Lengths add as squares, as those of two RBF kernels do."""

    join = staticmethod(mul)
    join_lengths = staticmethod(torch.hypot)


@final
@dataclass(frozen=True, eq=False)
class ActiveDimensions(Kernel):
    """k of some of the features; the derivative in the others is exactly zero."""

    kernel: Kernel
    dims: Int[Tensor, " k"]

    def parts(self) -> tuple[Kernel, ...]:
        """Those of the kernel inside."""
        return self.kernel.parts()

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """k of the selected columns."""
        return self.kernel(X[:, self.dims], Z[:, self.dims])

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """k of the selected columns."""
        return self.kernel.diagonal(X[:, self.dims])

    def along(self, line: Line, Z: Float[Tensor, "n d"]) -> Section:
        """k of the selected columns, its pull-back put back into its places."""
        inner = self.kernel.along(line.columns(self.dims), Z[:, self.dims])
        return inner.embedded(self.dims, line.d.shape[1])

    def along_diagonal(self, line: Line) -> Section:
        """k of the selected columns, its pull-back put back into its places."""
        return self.kernel.along_diagonal(line.columns(self.dims)).embedded(self.dims, line.d.shape[1])

    def between(self, left: Line, right: Line) -> Between:
        """k of the selected columns, its derivatives put back into their places."""
        inner = self.kernel.between(left.columns(self.dims), right.columns(self.dims))
        return inner.embedded(self.dims, left.d.shape[1])

    def fold(
        self, left: Line, right: Line, Z: Tensor, H: Tensor, A: Quadratic, *, full: bool
    ) -> Float[Tensor, "b d *d"]:
        """That of the selected columns, put back into its places."""
        seen = left.columns(self.dims)
        other = seen if right is left else right.columns(self.dims)  # the same nodes stay the same
        inner = self.kernel.fold(seen, other, Z[:, self.dims], H, A, full=full)
        return embed_matrix(inner, self.dims, Z.shape[1], full=full)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """As the kernel inside sees the line."""
        return self.kernel.length(line.columns(self.dims))
