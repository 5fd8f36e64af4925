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
from gplens.line import Line, Section


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

    def mixed(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d d"]:
        """variance * d d' k."""
        return self.variance * self.kernel.mixed(X, Y)

    def mixed_diagonal(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """variance * d d' k."""
        return self.variance * self.kernel.mixed_diagonal(X, Y)

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

    def mixed(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d d"]:
        """The sum of the terms'."""
        return reduce(add, (k.mixed(X, Y) for k in self.kernels))

    def mixed_diagonal(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """The sum of the terms'."""
        return reduce(add, (k.mixed_diagonal(X, Y) for k in self.kernels))


@final
@dataclass(frozen=True, eq=False)
class Product(Compound):
    """k1 * k2 * ...  Lengths add as squares, as those of two RBF kernels do."""

    join = staticmethod(mul)
    join_lengths = staticmethod(torch.hypot)

    def mixed(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d d"]:
        """The product rule, twice."""
        return reduce(mul, (_Jet.of(k, X, Y, k.mixed(X, Y)) for k in self.kernels)).mixed

    def mixed_diagonal(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """The product rule, twice."""
        return reduce(mul, (_Jet.of(k, X, Y, k.mixed_diagonal(X, Y)) for k in self.kernels)).mixed


@final
@dataclass(frozen=True, eq=False)
class _Jet:
    """k, d_k k, d_l' k and d_k d_l' k at pairs of points; `mixed` has two feature axes, or their diagonal alone."""

    value: Float[Tensor, "u w"]
    by_x: Float[Tensor, "u w d"]
    by_y: Float[Tensor, "u w d"]
    mixed: Float[Tensor, "u w d *d"]

    @staticmethod
    def of(kernel: Kernel, X: Tensor, Y: Tensor, mixed: Tensor) -> "_Jet":
        """A kernel is symmetric: its gradient in y is that in x with the arguments exchanged."""
        return _Jet(kernel(X, Y), kernel.gradient(X, Y), kernel.gradient(Y, X).transpose(0, 1), mixed)

    def __mul__(self, other: "_Jet") -> "_Jet":
        by_x = self._scale(other.by_x, self.value) + self._scale(self.by_x, other.value)
        by_y = self._scale(other.by_y, self.value) + self._scale(self.by_y, other.value)
        crossed = self._cross(self.by_x, other.by_y) + self._cross(other.by_x, self.by_y)
        mixed = self._scale(other.mixed, self.value) + self._scale(self.mixed, other.value) + crossed
        return _Jet(self.value * other.value, by_x, by_y, mixed)

    def _scale(self, derivative: Tensor, value: Tensor) -> Tensor:
        return derivative * value[(...,) + (None,) * (derivative.ndim - value.ndim)]

    def _cross(self, by_x: Tensor, by_y: Tensor) -> Tensor:
        return by_x * by_y if self.mixed.ndim == 3 else by_x[..., None] * by_y[..., None, :]


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

    def mixed(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d d"]:
        """Zero outside of the selected columns."""
        inner, out = self.kernel.mixed(X[:, self.dims], Y[:, self.dims]), X.new_zeros(*_shape(X, Y), X.shape[1])
        out[:, :, self.dims[:, None], self.dims] = inner
        return out

    def mixed_diagonal(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """Zero outside of the selected columns."""
        inner = self.kernel.mixed_diagonal(X[:, self.dims], Y[:, self.dims])
        return X.new_zeros(_shape(X, Y)).index_add_(2, self.dims, inner)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """As the kernel inside sees the line."""
        return self.kernel.length(line.columns(self.dims))


def _shape(X: Tensor, Y: Tensor) -> tuple[int, int, int]:
    return len(X), len(Y), X.shape[1]
