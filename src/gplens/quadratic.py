"""The matrix A of a posterior, in a form that keeps the digits of the variance (MATH 1.7)."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

SYMMETRY = 1e-8
"""How far from symmetric, relative to its largest entry, a given A may be. Rounding in a solve leaves 1e-10."""

LARGEST = 1e5
"""Entries of A up to which error bars use A itself: what rounding leaves is 1e-16 times that, of the prior."""


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

    @cached_property
    def matrix(self) -> Float[Tensor, "n n"]:
        """A itself, of a single latent function."""
        return (self.F[0].T * self.s[0]) @ self.F[0]

    @cached_property
    def keeps_digits(self) -> bool:
        """Whether products with the matrix itself lose little: rounding is multiplied by its size."""
        return bool(self.matrix.abs().max() * len(self.matrix) ** 0.5 <= LARGEST)

    @cached_property
    def _each(self) -> "tuple[Quadratic, ...]":
        return tuple(Quadratic(self.F[[min(i, len(self.F) - 1)]], s[None]) for i, s in enumerate(self.s))

    def of(self, latent: int) -> "Quadratic":
        """That of one latent function."""
        return self._each[latent if len(self._each) > 1 else 0]

    def whiten(self, k: Float[Tensor, "b q n"]) -> Float[Tensor, "b #c q r"]:
        """F k."""
        return k[:, None] @ self.F.mT

    def form(self, w: Float[Tensor, "b #c q r"]) -> Float[Tensor, "b c q"]:
        """k'Ak, given w = F k."""
        return (w**2 @ self.s[..., None])[..., 0]

    def unwhiten(self, w: Float[Tensor, "b #c q r"]) -> Float[Tensor, "b c q n"]:
        """A k, given w = F k."""
        return (w * self.s[:, None]) @ self.F
