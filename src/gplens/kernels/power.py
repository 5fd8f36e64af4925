"""A kernel to a power."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Derived
from gplens.lines.between import Between, PairMatrix
from gplens.lines.line import Line, Section
from gplens.lines.radial import SupportPoints
from gplens.lines.shapes import Batch


@final
@dataclass(frozen=True, eq=False)
class Power(Derived):
    """k^p, with  d k^p = p k^(p-1) dk  (4.5j). A non-integer p requires a kernel that is never negative.

    Raises:
        TypeError: if the kernel is not one of gplens.
        ValueError: if the exponent is not above zero.

    Example:
        >>> kernel = gplens.kernels.Power(gplens.kernels.Linear(torch.ones(1).double()), 2)
        >>> kernel(torch.tensor([[3.0]]).double(), torch.ones(1, 1).double()).item()
        9.0
    """

    exponent: float | int
    """p."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.exponent > 0:
            raise ValueError(f"Power: expected an exponent > 0, got {self.exponent}.")

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return self._raise(self.kernel(X, Z), 0)

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return self._raise(self.kernel.diagonal(X), 0)

    def prepare(self, Z: Float[Tensor, "n d"]) -> SupportPoints:
        return self.kernel.prepare(Z)

    def section(self, line: Line, support: SupportPoints) -> Section:
        return self._raised(self.kernel.section(line, support))

    def along_diagonal(self, line: Line) -> Section:
        return self._raised(self.kernel.along_diagonal(line))

    def _raised(self, inner: Section) -> Section:
        """The inner section to the power p; its pull-back has an additional weight p k^(p-1)."""
        slope = self._raise(inner.values, 1)
        return Section(
            self._raise(inner.values, 0),
            lambda W: inner.pull_back(W.times(slope)),
            lambda W: inner.by_node(W * slope[:, None]),
        )

    def between(self, left: Line, right: Line) -> Between:
        return self._raised_between(self.kernel.between(left, right))

    def between_points(self, X: Float[Tensor, "q d"], Y: Float[Tensor, "p d"]) -> Between:
        return self._raised_between(self.kernel.between_points(X, Y))

    def _raised_between(self, inner: Between) -> Between:
        """p k^(p-1) d d'k + p (p-1) k^(p-2) dk d'k."""
        first, second = (self._raise(inner.values, order)[..., None] for order in (1, 2))

        def by_both(full: bool) -> PairMatrix:
            if not full:
                return first * inner.by_both(False) + second * inner.by_x * inner.by_y
            outer = inner.by_x[..., None] * inner.by_y[..., None, :]
            return first[..., None] * inner.by_both(True) + second[..., None] * outer

        values = self._raise(inner.values, 0)
        return Between(values, lambda: first * inner.by_x, lambda: first * inner.by_y, by_both)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """sqrt(p) times the length of the inner kernel, as for powers of an RBF kernel, and not less than it."""
        return self.kernel.length(line) * max(1.0, self.exponent) ** 0.5

    def _raise(self, k: Batch, order: int) -> Batch:
        """The order-th derivative of k^p by k. For an integer p a polynomial; for any other zero where k is zero."""
        factor, p = 1.0, float(self.exponent)
        for _ in range(order):
            factor, p = factor * p, p - 1
        if float(self.exponent).is_integer():
            return factor * k**p if factor else torch.zeros_like(k)
        if bool((k < 0).any()):
            raise ArithmeticError(
                f"Power({self.exponent:g}): expected a kernel that is never negative, got k = {float(k.min()):.3g}. "
                "Use an integer exponent, or another kernel."
            )
        return torch.where(k > 0, factor * k.clamp(min=torch.finfo(k.dtype).tiny) ** p, 0)
