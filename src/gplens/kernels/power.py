"""A kernel to a power."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel
from gplens.lines.between import Between, Pairs
from gplens.lines.line import Line, Section
from gplens.lines.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class Power(Kernel):
    """k^p;  d k^p = p k^(p-1) dk  (4.5j). A power that is not a whole number wants a kernel that is never negative."""

    kernel: Kernel
    exponent: float | int

    def __post_init__(self) -> None:
        if not self.exponent > 0:
            raise ValueError(f"Power wants an exponent above zero; got {self.exponent}.")

    def parts(self) -> tuple[Kernel, ...]:
        """Those of the kernel inside."""
        return self.kernel.parts()

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """k^p."""
        return self._raise(self.kernel(X, Z), 0)

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """k(x, x)^p."""
        return self._raise(self.kernel.diagonal(X), 0)

    def along(self, line: Line, Z: Float[Tensor, "n d"]) -> Section:
        """The inner section, its pull-back weighted with p k^(p-1)."""
        return self._section(self.kernel.along(line, Z))

    def along_diagonal(self, line: Line) -> Section:
        """The same for k(x, x)."""
        return self._section(self.kernel.along_diagonal(line))

    def _section(self, inner: Section) -> Section:
        slope = self._raise(inner.values, 1)
        return Section(
            self._raise(inner.values, 0),
            lambda W: inner.pull_back(W.times(slope)),
            lambda W: inner.by_node(W * slope[:, None]),
        )

    def between(self, left: Line, right: Line) -> Between:
        """p k^(p-1) d d'k + p (p-1) k^(p-2) dk d'k."""
        inner = self.kernel.between(left, right)
        first, second = (self._raise(inner.values, order)[..., None] for order in (1, 2))

        def mixed(full: bool) -> Pairs:
            if not full:
                return first * inner.mixed(False) + second * inner.by_x * inner.by_y
            outer = inner.by_x[..., None] * inner.by_y[..., None, :]
            return first[..., None] * inner.mixed(True) + second[..., None] * outer

        values = self._raise(inner.values, 0)
        return Between(values, lambda: first * inner.by_x, lambda: first * inner.by_y, mixed)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """sqrt(p) times as long, as a power of the RBF kernel is; no shorter than the kernel inside."""
        return self.kernel.length(line) * max(1.0, self.exponent) ** 0.5

    def _raise(self, k: Batch, order: int) -> Batch:
        """The order-th derivative of k^p by k. A whole power is a polynomial; any other is zero where k vanishes."""
        factor, p = 1.0, float(self.exponent)
        for _ in range(order):
            factor, p = factor * p, p - 1
        if float(self.exponent).is_integer():
            return factor * k**p if factor else torch.zeros_like(k)
        if bool((k < 0).any()):
            raise ArithmeticError(
                f"k is {float(k.min()):.3g} at some points, of which the power {self.exponent:g} is not a real number. "
                "A whole exponent was wanted, or a kernel that is never negative."
            )
        return torch.where(k > 0, factor * k.clamp(min=torch.finfo(k.dtype).tiny) ** p, 0)
