"""A kernel of some of the features."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float, Int
from torch import Tensor

from gplens.kernels.kernel import Derived
from gplens.lines.between import Between, embed_matrix
from gplens.lines.forms import Quadratic
from gplens.lines.line import Line, Section
from gplens.lines.radial import SupportPoints


@final
@dataclass(frozen=True, eq=False)
class ActiveDimensions(Derived):
    """k of the features at `dims`, any of them once or more; derivatives in the others are zero. Refuses other kernels.

    Example:
        >>> kernel = gplens.kernels.ActiveDimensions(gplens.kernels.RBF(torch.ones(1).double()), torch.tensor([1]))
        >>> kernel(torch.tensor([[5.0, 0.0]]).double(), torch.zeros(1, 2).double()).item()  # the second alone counts
        1.0
    """

    dims: Int[Tensor, " k"]

    def kinks(self, line: Line, Z: Float[Tensor, "n d"]) -> Float[Tensor, "b k"]:
        return self.kernel.kinks(line.columns(self.dims), Z[:, self.dims])

    def categories(self, Z: Float[Tensor, "n d"]) -> tuple[int, ...]:
        return tuple(int(self.dims[column]) for column in self.kernel.categories(Z[:, self.dims]))

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return self.kernel(X[:, self.dims], Z[:, self.dims])

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return self.kernel.diagonal(X[:, self.dims])

    def prepare(self, Z: Float[Tensor, "n d"]) -> SupportPoints:
        return SupportPoints(Z, parts=(self.kernel.prepare(Z[:, self.dims]),))

    def section(self, line: Line, support: SupportPoints) -> Section:
        inner = self.kernel.section(line.columns(self.dims), support.parts[0])
        return inner.embedded(self.dims, line.d.shape[1])

    def along_diagonal(self, line: Line) -> Section:
        return self.kernel.along_diagonal(line.columns(self.dims)).embedded(self.dims, line.d.shape[1])

    def between(self, left: Line, right: Line) -> Between:
        inner = self.kernel.between(left.columns(self.dims), right.columns(self.dims))
        return inner.embedded(self.dims, left.d.shape[1])

    def between_points(self, X: Float[Tensor, "q d"], Y: Float[Tensor, "p d"]) -> Between:
        return self.kernel.between_points(X[:, self.dims], Y[:, self.dims]).embedded(self.dims, X.shape[1])

    def fold(
        self, left: Line, right: Line, support: SupportPoints, H: Tensor, A: Quadratic, *, full: bool
    ) -> Float[Tensor, "b d *d"]:
        left_columns = left.columns(self.dims)
        right_columns = left_columns if right is left else right.columns(self.dims)  # same object: same nodes

        def fold(wide: bool) -> Float[Tensor, "b k *k"]:
            return self.kernel.fold(left_columns, right_columns, support.parts[0], H, A, full=wide)

        return embed_matrix(fold, self.dims, left.d.shape[1], full=full)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        return self.kernel.length(line.columns(self.dims))
