"""The interface of a kernel, and kernels that are made from one other kernel (MATH 4)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.between import Between, cross_derivatives_by_autograd, stack
from gplens.lines.forms import Quadratic
from gplens.lines.line import Line, Section, autograd_section
from gplens.lines.radial import SupportPoints

CHORDS = 64
"""The number of pieces of a path whose length is measured from kernel values alone."""
BLOCK = 256
"""The number of points y per block in `gradient`; each y is one channel of weights."""


class Kernel(ABC):
    """k(x, z), differentiable in x everywhere.

    A kernel has to define `__call__` and `diagonal`; everything else is inherited, with derivatives by autograd. A
    kernel with structure along a line overrides `section`, `along_diagonal` and `length`, and `prepare` if part of the
    work depends only on the support points. For error bars it overrides `fold`, and either `cross_derivatives` or both
    `between` and `between_points`.

    Example:
        >>> isinstance(gplens.kernels.RBF(torch.ones(2)), gplens.kernels.Kernel)
        True
    """

    @property
    def autograd(self) -> bool:
        """Whether the gradients of k(x, z) or k(x, x) come from autograd rather than from formulas."""
        kind = type(self)
        inherited = kind.section is Kernel.section or kind.along_diagonal is Kernel.along_diagonal
        return inherited or any(part.autograd for part in self.parts() if part is not self)

    @property
    def smooth(self) -> bool:
        """Whether k(x, y) is analytic at x = y. Assumed to be False for kernels that go through autograd."""
        return not self.autograd

    def kinks(self, line: Line, Z: Float[Tensor, "n d"]) -> Float[Tensor, "b k"]:
        """The places t at which its slope has a kink: for a rough kernel of one feature, at the support points.

        In a single feature a line passes every support point; in several features it hardly ever passes one.
        """
        if self.smooth or Z.shape[1] != 1:
            return line.d.new_empty(line.d.shape[0], 0)
        return (Z.T - line.x0) / line.d

    def parts(self) -> "tuple[Kernel, ...]":
        """The simple kernels of which this kernel is composed, at any depth."""
        return (self,)

    def categories(self, Z: Float[Tensor, "n d"]) -> tuple[int, ...]:
        """The columns that are categories, in which k has no derivative; Z are the support points."""
        return ()

    @abstractmethod
    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """k(x_i, z_j) for all pairs."""

    @abstractmethod
    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """k(x_i, x_i)."""

    def prepare(self, Z: Float[Tensor, "n d"]) -> SupportPoints:
        """Everything that `section` and `fold` compute from the support points alone."""
        return SupportPoints(Z)

    def section(self, line: Line, support: SupportPoints) -> Section:
        """k(x(t_q), z_n) along a line: values (b, q, n), and their pull-back."""
        return autograd_section(lambda x: self(x.flatten(0, 1), support.Z).unflatten(0, x.shape[:2]), line)

    def scaled_section(self, line: Line, support: SupportPoints, factor: Float[Tensor, ""]) -> Section:
        """The section of factor * k; overridden where this saves a tensor of all nodes and support points."""
        return self.section(line, support).scaled(factor)

    def along(self, line: Line, Z: Float[Tensor, "n d"]) -> Section:
        """`section` for support points that are used only once."""
        return self.section(line, self.prepare(Z))

    def along_diagonal(self, line: Line) -> Section:
        """k(x(t_q), x(t_q)) along a line: values (b, q), and their pull-back."""
        return autograd_section(lambda x: self.diagonal(x.flatten(0, 1)).unflatten(0, x.shape[:2]), line)

    def gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """d_k k(x_i, y_j) for all pairs."""
        return torch.cat([self._gradient(X, block) for block in Y.split(BLOCK)], dim=1)

    def _gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        """The pull-back of one channel of weights for each y."""
        channels = torch.eye(len(Y), dtype=X.dtype).expand(len(X), -1, -1)[:, :, None]
        return self.along(Line.at(X), Y).by_node(channels)[:, :, 0]

    def cross_derivatives(
        self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"], *, full: bool
    ) -> Float[Tensor, "u w d *d"]:
        """d_k d_l' k(x_i, y_j), one derivative in each argument (5.12), for all k and l if full, else for k = l.

        By autograd here: one backward pass for each x_i and k.
        """
        return cross_derivatives_by_autograd(self, X, Y, full=full)

    def between(self, left: Line, right: Line) -> Between:
        """k and its derivatives between the nodes of two lines in each row, which may be the same. Row by row here."""
        return stack([self.between_points(X, Y) for X, Y in zip(left.points(), right.points(), strict=True)])

    def between_points(self, X: Float[Tensor, "q d"], Y: Float[Tensor, "p d"]) -> Between:
        """k and its derivatives between all pairs of points, as a single row."""
        return Between(
            self(X, Y)[None],
            lambda: self.gradient(X, Y)[None],
            lambda: self.gradient(Y, X).transpose(0, 1)[None],  # k is symmetric
            lambda full: self.cross_derivatives(X, Y, full=full)[None],
        )

    def fold(
        self, left: Line, right: Line, support: SupportPoints, H: Float[Tensor, "b q p"], A: Quadratic, *, full: bool
    ) -> Float[Tensor, "b d *d"]:
        """sum_qp H_qp d_k k(x_q,Z) A d_l k(Z,y_p) for the A of one latent function (5.13). O(q n^2 d) a row."""
        B = self._whitened_gradient(left, support, A)
        C = B if right is left else self._whitened_gradient(right, support, A)
        weighted = (H @ C.flatten(2)).view(len(H), -1, *C.shape[2:]) * A.s[0, :, None]
        if not full:
            return (B * weighted).sum((1, 2))
        return B.flatten(1, 2).mT @ weighted.flatten(1, 2)

    def _whitened_gradient(self, line: Line, support: SupportPoints, A: Quadratic) -> Float[Tensor, "b q r d"]:
        """F d_k k(Z, x_q), which keeps digits that a product with A would lose (1.7)."""
        gradient = self.gradient(line.points().flatten(0, 1), support.Z)
        return (A.F[0] @ gradient).unflatten(0, line.t.shape)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """Path length in lengthscales (4.6), which decides the first panels of a path.

        By default it is measured from kernel values: the sum of the chords (k(x,x) + k(y,y) - 2 k(x,y))^1/2 /
        k(x,x)^1/2 of 64 pieces. If the kernel varies faster than the pieces, the length is underestimated.
        """
        t = torch.linspace(0, 1, CHORDS + 1, dtype=line.d.dtype)
        return torch.stack(
            [self._chords(line.x0[min(i, len(line.x0) - 1)] + t[:, None] * d) for i, d in enumerate(line.d)]
        )

    def _chords(self, x: Float[Tensor, "q d"]) -> Float[Tensor, ""]:
        k = self(x, x)
        here, following = k.diagonal()[:-1], k.diagonal()[1:]
        squared = (here + following - 2 * k.diagonal(offset=1)).clamp(min=0)  # rounding may leave -1e-16
        return (squared / here).nan_to_num().sqrt().sum()


@dataclass(frozen=True, eq=False)
class Derived(Kernel):
    """A kernel that is computed from one other kernel. Refuses what is no kernel of gplens."""

    kernel: Kernel

    def __post_init__(self) -> None:
        check_kernel(self.kernel)

    @property
    def autograd(self) -> bool:
        return self.kernel.autograd

    def parts(self) -> tuple[Kernel, ...]:
        return self.kernel.parts()

    def kinks(self, line: Line, Z: Float[Tensor, "n d"]) -> Float[Tensor, "b k"]:
        return self.kernel.kinks(line, Z)

    def categories(self, Z: Float[Tensor, "n d"]) -> tuple[int, ...]:
        return self.kernel.categories(Z)


@final
@dataclass(frozen=True, eq=False)
class Scale(Derived):
    """variance * k. Refuses what is no kernel of gplens.

    Example:
        >>> kernel = gplens.kernels.Scale(gplens.kernels.RBF(torch.ones(1).double()), torch.tensor(9.0).double())
        >>> kernel(torch.zeros(1, 1).double(), torch.zeros(1, 1).double()).item()
        9.0
    """

    variance: Float[Tensor, ""]

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return self.variance * self.kernel(X, Z)

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return self.variance * self.kernel.diagonal(X)

    def prepare(self, Z: Float[Tensor, "n d"]) -> SupportPoints:
        return self.kernel.prepare(Z)

    def section(self, line: Line, support: SupportPoints) -> Section:
        return self.kernel.scaled_section(line, support, self.variance)

    def along_diagonal(self, line: Line) -> Section:
        return self.kernel.along_diagonal(line).scaled(self.variance)

    def gradient(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]) -> Float[Tensor, "u w d"]:
        return self.variance * self.kernel.gradient(X, Y)

    def between(self, left: Line, right: Line) -> Between:
        return self.kernel.between(left, right).scaled(self.variance)

    def between_points(self, X: Float[Tensor, "q d"], Y: Float[Tensor, "p d"]) -> Between:
        return self.kernel.between_points(X, Y).scaled(self.variance)

    def fold(
        self, left: Line, right: Line, support: SupportPoints, H: Tensor, A: Quadratic, *, full: bool
    ) -> Float[Tensor, "b d *d"]:
        return self.variance**2 * self.kernel.fold(left, right, support, H, A, full=full)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        return self.kernel.length(line)


def check_kernel(*kernels: Any) -> None:
    """Refuse an object that is not a kernel of gplens, such as a kernel of another library."""
    foreign = [kernel for kernel in kernels if not isinstance(kernel, Kernel)]
    if not foreign:
        return
    kernel = foreign[0]
    kind = kernel if isinstance(kernel, type) else type(kernel)
    got = f"the class {kind.__name__}" if isinstance(kernel, type) else f"{kind.__module__}.{kind.__name__}"
    raise TypeError(
        f"expected a kernel of gplens, such as gplens.kernels.RBF(lengthscale), got {got}; a fitted model of another "
        "library is explained as it is: gplens.explain(model, X, ...)."
    )


def check_features(kernel: Kernel, parameter: Float[Tensor, " k"], Z: Float[Tensor, "n d"]) -> None:
    """Refuse support points whose number of features differs from the entries of the parameter, if it has several."""
    if len(parameter) not in (1, Z.shape[1]):
        raise ValueError(
            f"{type(kernel).__name__}: expected support points with {len(parameter)} features, one for each entry of "
            f"its parameters, got {Z.shape[1]}."
        )
