"""What a kernel must offer: values along a line, and the pull-back of weights through its gradient (MATH 4)."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.between import Between, stack
from gplens.lines.line import Line, Section, autograd_section
from gplens.lines.quadratic import Quadratic

CHORDS = 64
"""Pieces into which a path is cut where only the kernel's values can tell how long it is."""

BLOCK = 256
"""Points y at a time in the gradient of a kernel: each is a channel of its own."""


class Kernel(ABC):
    """k(x, z), differentiable in x everywhere.

    A kernel with structure along a line overrides `along`, `along_diagonal` and `length`, and for error bars
    `between` and `fold`; one that has none inherits them: same results, the derivatives by autograd.
    """

    @property
    def autograd(self) -> bool:
        """Whether the gradient, or that of a part, comes from autograd rather than from a formula."""
        inherited = type(self).along is Kernel.along
        return inherited or any(part.autograd for part in self.parts() if part is not self)

    @property
    def smooth(self) -> bool:
        """Whether k(x, y) is analytic at x = y. What is not known is taken not to be."""
        return not self.autograd

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

    def gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """d_k k(x_i, y_j): the pull-back of one channel for each y, some of them at a time."""
        return torch.cat([self._gradient(X, some) for some in Y.split(BLOCK)], dim=1)

    def _gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        each = torch.eye(len(Y), dtype=X.dtype).expand(len(X), -1, -1)[:, :, None]
        return self.along(Line.at(X), Y).by_node(each)[:, :, 0]

    def between(self, left: Line, right: Line) -> Between:
        """k and its derivatives between the nodes of two lines that are one line in each row; here row by row."""
        return stack([self._between(X, Y) for X, Y in zip(left.points(), right.points(), strict=True)])

    def _between(self, X: Float[Tensor, "q d"], Y: Float[Tensor, "p d"]) -> Between:
        return Between(
            self(X, Y)[None],
            lambda: self.gradient(X, Y)[None],
            lambda: self.gradient(Y, X).transpose(0, 1)[None],  # a kernel is symmetric
            lambda full: self._mixed(X, Y, full=full)[None],
        )

    def _mixed(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"], *, full: bool) -> Float[Tensor, "u w d *d"]:
        """d_k d_l' k(x_i, y_j), the derivative in both arguments (5.12); by autograd, one pass for each i and k."""
        with torch.enable_grad():
            x, y = X.detach().requires_grad_(), Y.detach().requires_grad_()
            V = torch.zeros(len(X), len(Y), dtype=X.dtype, requires_grad=True)
            weighted = _grad(self(x, y), x, V)  # sum_j V_ij d_k k_ij: linear in V, whose coefficients are wanted
            slopes = [_grad(weighted[:, k].sum(), V) for k in range(X.shape[1])]
            rows = [torch.stack([_grad(slope[i].sum(), y) for slope in slopes], dim=1) for i in range(len(X))]
        mixed = torch.stack(rows).detach()
        return mixed if full else mixed.diagonal(dim1=2, dim2=3)

    def fold(
        self,
        left: Line,
        right: Line,
        Z: Float[Tensor, "n d"],
        H: Float[Tensor, "b q p"],
        A: Quadratic,
        *,
        full: bool,
    ) -> Float[Tensor, "b d *d"]:
        """sum_qp H_qp d_k k(x_q,Z) A d_l k(Z,y_p), for one A (5.13); here row by row, O(q n^2 d)."""
        others = [None] * len(H) if right is left else right.points()
        lines = zip(left.points(), others, H, strict=True)
        return torch.stack([self._fold(X, Y, Z, weights, A, full=full) for X, Y, weights in lines])

    def _fold(
        self, X: Tensor, Y: Tensor | None, Z: Tensor, H: Float[Tensor, "q p"], A: Quadratic, *, full: bool
    ) -> Float[Tensor, "d *d"]:
        """Of one row; no Y where its points are those of X."""
        B = A.F[0] @ self.gradient(X, Z)
        C = B if Y is None else A.F[0] @ self.gradient(Y, Z)
        weighted = A.s[0, :, None] * torch.tensordot(H, C, 1)
        return B.flatten(0, 1).T @ weighted.flatten(0, 1) if full else (B * weighted).sum((0, 1))

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


def _grad(of: Tensor, by: Tensor, weights: Tensor | None = None) -> Tensor:
    """A derivative that can be differentiated again; zero where there is no dependence."""
    if not of.requires_grad:
        return torch.zeros_like(by)
    return torch.autograd.grad(of, by, weights, create_graph=True, materialize_grads=True)[0]
