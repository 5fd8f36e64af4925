"""A kernel of levels: bilinear in their shares, so that it is linear between two levels (MATH 10.3)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel
from gplens.lines.forms import Form
from gplens.lines.line import Line, Section
from gplens.lines.pull_back_weights import Weights
from gplens.lines.radial import SupportPoints


@final
@dataclass(frozen=True, eq=False)
class Bilinear(Kernel):
    """k = x' G z,  d_k k = (G z)_k  (10.3). For one-hot x and z it is an entry of the covariance G of the levels.

    Example:
        >>> kernel = gplens.kernels.Bilinear(torch.tensor([[1.0, 0.25], [0.25, 1.0]]).double())
        >>> kernel(torch.eye(2).double()[:1], torch.eye(2).double()).tolist()
        [[1.0, 0.25]]
    """

    G: Float[Tensor, "d d"]
    """Symmetric."""

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return X @ self.G @ Z.T

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return ((X @ self.G) * X).sum(1)

    def prepare(self, Z: Float[Tensor, "n d"]) -> SupportPoints:
        if Z.shape[1] != len(self.G):
            raise ValueError(
                f"Bilinear: expected support points with {len(self.G)} features, one for each row of G, got "
                f"{Z.shape[1]}."
            )
        return SupportPoints(Z)

    def section(self, line: Line, support: SupportPoints) -> Section:
        """Linear in t, with a gradient that does not depend on t."""
        Gz = support.Z @ self.G
        values = (line.x0 @ Gz.T)[:, None] + line.t[:, :, None] * (line.d @ Gz.T)[:, None]
        ones = torch.ones_like(values)
        return Section(values, lambda W: Form(shared=((W.times(ones).over_nodes(), Gz),)), lambda W: W @ Gz)

    def along_diagonal(self, line: Line) -> Section:
        """x(t)' G x(t), a quadratic in t, and  d_k k = 2 (G x)_k."""
        Gx0, Gd = line.x0 @ self.G, line.d @ self.G
        s0, s1, s2 = ((a * b).sum(1, keepdim=True) for a, b in ((Gx0, line.x0), (Gx0, line.d), (Gd, line.d)))

        def pull_back(weights: Weights) -> Form:
            W = 2 * weights.dense()
            moved = (W * line.t[:, None]).sum(2)[..., None] * Gd[:, None]
            return Form(dense=(W.sum(2)[..., None] * Gx0[:, None] + moved,))

        def by_node(W: Float[Tensor, "b p q"]) -> Float[Tensor, "b p q d"]:
            return 2 * W[..., None] * (line.points() @ self.G)[:, None]

        return Section(s0 + line.t * (2 * s1 + line.t * s2), pull_back, by_node)

    def cross_derivatives(
        self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"], *, full: bool
    ) -> Float[Tensor, "u w d *d"]:
        matrix = self.G if full else self.G.diagonal()
        return matrix.expand(len(X), len(Y), *matrix.shape)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """Zero: a polynomial in t has no lengthscale."""
        return torch.zeros_like(line.d[:, 0])
