"""Kernels that do not change along a path: a constant, and kernels of categories."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel
from gplens.lines.line import Line, Section, constant_section
from gplens.lines.radial import SupportPoints


class Unchanging(Kernel):
    """A kernel whose derivatives are zero along every path that it accepts."""

    @abstractmethod
    def check(self, line: Line) -> None:
        """Raise a ValueError for a path along which the kernel does change."""

    def section(self, line: Line, support: SupportPoints) -> Section:
        self.check(line)
        values = self(line.x0, support.Z)[:, None].expand(*line.t.shape, -1)
        return constant_section(values, line.d.shape[1])

    def along_diagonal(self, line: Line) -> Section:
        self.check(line)
        return constant_section(self.diagonal(line.x0)[:, None].expand(line.t.shape), line.d.shape[1])

    def cross_derivatives(
        self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"], *, full: bool
    ) -> Float[Tensor, "u w d *d"]:
        return X.new_zeros(len(X), len(Y), *[X.shape[1]] * (2 if full else 1))

    def length(self, line: Line) -> Float[Tensor, " b"]:
        return torch.zeros_like(line.d[:, 0])


@final
@dataclass(frozen=True, eq=False)
class Constant(Unchanging):
    """k = variance for all pairs: an uncertain offset.

    Example:
        >>> offset = gplens.kernels.Constant(torch.tensor(4.0).double())
        >>> kernel = gplens.kernels.Sum((gplens.kernels.RBF(torch.ones(1).double()), offset))
        >>> kernel(torch.zeros(1, 1).double(), torch.zeros(1, 1).double()).item()
        5.0
    """

    variance: Float[Tensor, ""]

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return self.variance.expand(X.shape[0], Z.shape[0])

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return self.variance.expand(X.shape[0])

    def check(self, line: Line) -> None:
        """Accept every path: the kernel is the same at all points."""


@final
@dataclass(frozen=True, eq=False)
class Discrete(Unchanging):
    """k(x, z) of categories or tasks, which have no derivative. Exact on lines that do not change them.

    A path that changes categories is a mixture of such lines  (10.1).

    Example:
        >>> def same(x, z):
        ...     return (x[:, None, 0] == z[None, :, 0]).double()
        >>> kernel = gplens.kernels.Discrete(same, lambda x: torch.ones(len(x)).double(), "same category")
        >>> kernel(torch.tensor([[1.0]]).double(), torch.tensor([[1.0], [2.0]]).double()).tolist()
        [[1.0, 0.0]]
    """

    pairs: Callable[[Float[Tensor, "b d"], Float[Tensor, "n d"]], Float[Tensor, "b n"]]
    """(X, Z) -> k(x_i, z_j)."""
    variance: Callable[[Float[Tensor, "b d"]], Float[Tensor, " b"]]
    """X -> k(x_i, x_i)."""
    name: str
    """What messages call it."""

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return self.pairs(X, Z)

    def categories(self, Z: Float[Tensor, "n d"]) -> tuple[int, ...]:
        return tuple(range(Z.shape[1]))

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return self.variance(X)

    def check(self, line: Line) -> None:
        changes = line.d[line.d != 0]
        if len(changes):
            raise ValueError(
                f"expected lines that leave the categories of {self.name} unchanged, got a change by "
                f"{float(changes[0]):g}: between categories there is no derivative. gplens.explain switches them; for "
                "anything else give each input a baseline with its own categories: baseline = X.clone(), with the "
                "other columns changed."
            )
