"""The matrix A of a posterior, in a form that keeps the digits of the variance (MATH 1.7)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

SYMMETRY = 1e-8
"""How far from symmetric, relative to its largest entry, a given A may be. Rounding in a solve leaves 1e-10."""


@final
@dataclass(frozen=True, eq=False)
class Quadratic:
    """A = F' diag(s) F, for c latent functions at once, so that  k'Ak = sum_r s_r (F k)_r^2  (1.7).

    With K = LL' and F = L^-1 a rounding error is multiplied by the condition of L, which is the root of that of
    K and of A itself: eight digits for a condition of 1e16 where the product with a dense A has none.
    """

    F: Float[Tensor, "#c r n"]
    s: Float[Tensor, "#c r"]

    @staticmethod
    def dense(A: Float[Tensor, "c n n"]) -> "Quadratic":
        """From the matrix itself, by its eigenvectors."""
        skew, size = (A - A.mT).abs().max(), A.abs().max()
        if skew > SYMMETRY * size:
            raise ValueError(f"A must be symmetric; got |A - A'| = {skew:.3g} where |A| = {size:.3g}.")
        s, Q = torch.linalg.eigh((A + A.mT) / 2)
        return Quadratic(Q.mT.contiguous(), s)

    def of(self, latent: int) -> "Quadratic":
        """That of one latent function."""
        return Quadratic(*(part[[latent if len(part) > 1 else 0]] for part in (self.F, self.s)))

    def whiten(self, k: Float[Tensor, "b q n"]) -> Float[Tensor, "b #c q r"]:
        """F k."""
        return k[:, None] @ self.F.mT

    def form(self, w: Float[Tensor, "b #c q r"]) -> Float[Tensor, "b c q"]:
        """k'Ak, given w = F k."""
        return (w**2 @ self.s[..., None])[..., 0]

    def unwhiten(self, w: Float[Tensor, "b #c q r"]) -> Float[Tensor, "b c q n"]:
        """A k, given w = F k."""
        return (w * self.s[:, None]) @ self.F
