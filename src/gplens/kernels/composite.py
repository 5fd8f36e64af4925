"""Composite kernels: summed and multiplied."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any, ClassVar, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel, check_kernel
from gplens.lines.between import Between
from gplens.lines.line import Line, Section
from gplens.lines.radial import SupportPoints


@dataclass(frozen=True, eq=False)
class Compound(Kernel):
    """Kernels joined by one operation, of values and of sections alike. Refuses parts that are no kernels of gplens."""

    kernels: tuple[Kernel, ...]

    join: ClassVar[Callable[[Any, Any], Any]]
    """The operation, on values and on sections."""
    join_lengths: ClassVar[Callable[[Tensor, Tensor], Tensor]]

    def __post_init__(self) -> None:
        check_kernel(*self.kernels)

    @property
    def autograd(self) -> bool:
        return any(kernel.autograd for kernel in self.kernels)

    def kinks(self, line: Line, Z: Float[Tensor, "n d"]) -> Float[Tensor, "b k"]:
        return torch.cat([kernel.kinks(line, Z) for kernel in self.kernels], dim=1)

    def parts(self) -> tuple[Kernel, ...]:
        return tuple(part for kernel in self.kernels for part in kernel.parts())

    def categories(self, Z: Float[Tensor, "n d"]) -> tuple[int, ...]:
        return tuple(column for kernel in self.kernels for column in kernel.categories(Z))

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return reduce(self.join, (k(X, Z) for k in self.kernels))

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return reduce(self.join, (k.diagonal(X) for k in self.kernels))

    def prepare(self, Z: Float[Tensor, "n d"]) -> SupportPoints:
        return SupportPoints(Z, parts=tuple(k.prepare(Z) for k in self.kernels))

    def section(self, line: Line, support: SupportPoints) -> Section:
        pairs = zip(self.kernels, support.parts, strict=True)
        return reduce(self.join, (k.section(line, part) for k, part in pairs))

    def along_diagonal(self, line: Line) -> Section:
        return reduce(self.join, (k.along_diagonal(line) for k in self.kernels))

    def between(self, left: Line, right: Line) -> Between:
        return reduce(self.join, (k.between(left, right) for k in self.kernels))

    def between_points(self, X: Float[Tensor, "q d"], Y: Float[Tensor, "p d"]) -> Between:
        return reduce(self.join, (k.between_points(X, Y) for k in self.kernels))

    def length(self, line: Line) -> Float[Tensor, " b"]:
        return reduce(self.join_lengths, (k.length(line) for k in self.kernels))


@final
@dataclass(frozen=True, eq=False)
class Sum(Compound):
    """k1 + k2 + ...  Its path length is the largest of the terms': the shortest lengthscale needs the most panels.

    Example:
        >>> rbf = gplens.kernels.RBF(torch.ones(1).double())
        >>> gplens.kernels.Sum((rbf, rbf))(torch.zeros(1, 1).double(), torch.zeros(1, 1).double()).item()
        2.0
    """

    join = staticmethod(add)
    join_lengths = staticmethod(torch.maximum)

    def gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        return reduce(add, (k.gradient(X, Y) for k in self.kernels))


@final
@dataclass(frozen=True, eq=False)
class Product(Compound):
    """k1 * k2 * ...  Squared path lengths add, as those of two RBF kernels do.

    Example:
        >>> linear = gplens.kernels.Linear(torch.ones(1).double())
        >>> gplens.kernels.Product((linear, linear))(torch.tensor([[3.0]]).double(), torch.ones(1, 1).double()).item()
        9.0
    """

    join = staticmethod(mul)
    join_lengths = staticmethod(torch.hypot)
