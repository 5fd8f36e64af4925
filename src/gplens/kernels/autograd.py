"""Kernels whose derivatives come from autograd: of any function, or of inputs that pass through one (MATH 1.11)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel
from gplens.lines.between import Between
from gplens.lines.line import Line, Section, summed
from gplens.lines.radial import SupportPoints

LOOKED_AT = 4
"""The number of support points at which a Jacobian is evaluated, to see which columns depend on which."""


@final
@dataclass(frozen=True, eq=False)
class Autograd(Kernel):
    """k as two differentiable functions. Costs O(qnd) a row, and more than a kernel with formulas.

    Example:
        >>> def pairs(x, z):
        ...     return torch.exp(-((x[:, None] - z[None]) ** 2).sum(-1))
        >>> kernel = gplens.kernels.Autograd(pairs, lambda x: torch.ones(len(x)).double())
        >>> kernel(torch.zeros(1, 2).double(), torch.zeros(1, 2).double()).item()
        1.0
    """

    pairs: Callable[[Float[Tensor, "b d"], Float[Tensor, "n d"]], Float[Tensor, "b n"]]
    """(X, Z) -> k(x_i, z_j)."""
    variance: Callable[[Float[Tensor, "b d"]], Float[Tensor, " b"]]
    """X -> k(x_i, x_i)."""
    name: str = "a function"
    """What messages call it."""

    @property
    def autograd(self) -> bool:
        return True

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return self.pairs(X, Z)

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return self.variance(X)

    def cross_derivatives(
        self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"], *, full: bool
    ) -> Float[Tensor, "u w d *d"]:
        try:
            return super().cross_derivatives(X, Y, full=full)
        except NotImplementedError as cause:
            raise ValueError(
                f"expected a kernel that autograd can differentiate twice, as error bars need it, got {self.name}: "
                f"{cause} Compute distances from differences of the inputs rather than with torch.cdist (in a kernel "
                "of GPyTorch, that is covar_dist without square_dist=True), or leave uncertainty= out."
            ) from cause


@final
@dataclass(frozen=True, eq=False)
class Warped(Kernel):
    """k(phi(x), phi(z)). A straight path becomes a curve, along which d_k = sum_j J_jk d_j'  (1.11).

    The derivatives of k come from its formulas, applied at each node to the tangent of the curve; the Jacobian J of phi
    comes from autograd. O(qnd) a row.

    Example:
        >>> kernel = gplens.kernels.Warped(gplens.kernels.RBF(torch.ones(1).double()), torch.log)
        >>> kernel(torch.ones(1, 1).double(), torch.ones(1, 1).double()).item()
        1.0
    """

    kernel: Kernel
    phi: Callable[[Float[Tensor, "b d"]], Float[Tensor, "b e"]]
    """A differentiable function that acts on every row separately."""

    @property
    def autograd(self) -> bool:
        return True

    def parts(self) -> tuple[Kernel, ...]:
        return self.kernel.parts()

    def categories(self, Z: Float[Tensor, "n d"]) -> tuple[int, ...]:
        inner = self.kernel.categories(self.phi(Z))
        if not inner:
            return ()
        depends = (self.jacobian(Z[:LOOKED_AT])[1] != 0).any(0)
        return tuple(depends[list(inner)].any(0).nonzero()[:, 0].tolist())

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return self.kernel(self.phi(X), self.phi(Z))

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return self.kernel.diagonal(self.phi(X))

    def prepare(self, Z: Float[Tensor, "n d"]) -> SupportPoints:
        return SupportPoints(Z, parts=(self.kernel.prepare(self.phi(Z)),))

    def section(self, line: Line, support: SupportPoints) -> Section:
        tangents, J = self._tangents(line)
        return _along_curve(self.kernel.section(tangents, support.parts[0]), line, J)

    def along_diagonal(self, line: Line) -> Section:
        tangents, J = self._tangents(line)
        return _along_curve(self.kernel.along_diagonal(tangents), line, J)

    def gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        x, J = self.jacobian(X)
        return self.kernel.gradient(x, self.phi(Y)) @ J

    def between_points(self, X: Float[Tensor, "q d"], Y: Float[Tensor, "p d"]) -> Between:
        (x, Jx), (y, Jy) = self.jacobian(X), self.jacobian(Y)
        inner = self.kernel.between_points(x, y)

        def by_both(full: bool) -> Float[Tensor, "1 q p d *d"]:
            indices = "qek,bqpef,pfl->bqpkl" if full else "qek,bqpef,pfk->bqpk"
            return torch.einsum(indices, Jx, inner.by_both(True), Jy)

        return Between(
            inner.values,
            lambda: torch.einsum("bqpe,qek->bqpk", inner.by_x, Jx),
            lambda: torch.einsum("bqpe,pek->bqpk", inner.by_y, Jy),
            by_both,
        )

    def _tangents(self, line: Line) -> tuple[Line, Float[Tensor, "bq e d"]]:
        """phi at every node with its direction there, so that kernels of categories notice a change, and J."""
        x, J = self.jacobian(line.points().flatten(0, 1))
        d = line.d.repeat_interleave(line.t.shape[1], 0)
        return Line(x, torch.einsum("ned,nd->ne", J, d), x.new_zeros(len(x), 1)), J

    def jacobian(self, X: Float[Tensor, "k d"]) -> tuple[Float[Tensor, "k e"], Float[Tensor, "k e d"]]:
        """phi and J_jk = d_k phi_j."""
        with torch.enable_grad():
            X = X.detach().requires_grad_()
            x = self.phi(X)
            rows = [torch.autograd.grad(column.sum(), X, retain_graph=True)[0] for column in x.unbind(1)]
        return x.detach(), torch.stack(rows, dim=1)


def _along_curve(inner: Section, line: Line, J: Float[Tensor, "bq e d"]) -> Section:
    """Turn a section over rows with one node each into a section over lines with many nodes."""
    shape = line.t.shape

    def by_node(W: Float[Tensor, "b p q *rest"]) -> Float[Tensor, "b p q d"]:
        gradients = inner.by_node(W.transpose(1, 2).flatten(0, 1).unsqueeze(2))[:, :, 0]
        return (gradients @ J).unflatten(0, shape).transpose(1, 2)

    return Section(inner.values[:, 0].unflatten(0, shape), summed(by_node), by_node)
