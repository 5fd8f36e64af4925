"""What a kernel must offer: values along a line, and the pull-back of weights through its gradient (MATH 4)."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.line import Line, Section, autograd_section

CHORDS = 64
"""Pieces into which a path is cut where only the kernel's values can tell how long it is."""


class Kernel(ABC):
    """k(x, z), differentiable in x everywhere.

    A kernel with structure along a line overrides `along`, `along_diagonal` and `length`; one that has none
    inherits them: same results, the gradient by autograd.
    """

    @property
    def autograd(self) -> bool:
        """Whether the gradient, or that of a part, comes from autograd rather than from a formula."""
        inherited = type(self).along is Kernel.along
        return inherited or any(part.autograd for part in self.parts() if part is not self)

    def parts(self) -> "tuple[Kernel, ...]":
        """The kernels it is made of, at any depth; a simple kernel is its own only part."""
        return (self,)

    @abstractmethod
    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """k(x_i, z_j) for all pairs."""

    @abstractmethod
    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """k(x_i, x_i)."""

    def along(self, line: Line, Z: Float[Tensor, "n d"]) -> Section:
        """k(x(t_q), z_n): values (b, q, n)."""
        return autograd_section(lambda x: self(x.flatten(0, 1), Z).unflatten(0, x.shape[:2]), line)

    def along_diagonal(self, line: Line) -> Section:
        """k(x(t_q), x(t_q)): values (b, q)."""
        return autograd_section(lambda x: self.diagonal(x.flatten(0, 1)).unflatten(0, x.shape[:2]), line)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """How far the line goes, in units over which the kernel forgets: |d| in lengthscales (4.6).

        Here from values alone: the sum of the chords (k(x,x) + k(y,y) - 2 k(x,y))^1/2 / k(x,x)^1/2 of a fine
        partition. It places the first panels of the path, so that no feature of the kernel is stepped over.
        """
        t = torch.linspace(0, 1, CHORDS + 1, dtype=line.d.dtype)
        return torch.stack(
            [self._chords(line.x0[min(i, len(line.x0) - 1)] + t[:, None] * d) for i, d in enumerate(line.d)]
        )

    def _chords(self, x: Float[Tensor, "q d"]) -> Float[Tensor, ""]:
        k = self(x, x)
        here, next_ = k.diagonal()[:-1], k.diagonal()[1:]
        squared = (here + next_ - 2 * k.diagonal(offset=1)).clamp(min=0)  # rounding may leave -1e-16
        return (squared / here).nan_to_num().sqrt().sum()
