"""The matrix A of a posterior, in a form that keeps the digits of the variance (MATH 1.7)."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

SYMMETRY = 1e-8
"""How far from symmetric, relative to its largest entry, a given A may be. Rounding in a solve leaves 1e-10."""

DENSE = 2048
"""Support points beyond which A is not formed: n^3 would be more than the products that it saves."""
LARGEST = 1e3
"""Size of A, in units of the prior, up to which A itself is used, in one product instead of two: it loses 3 digits."""


@final
@dataclass(frozen=True, eq=False)
class Quadratic:
    """A = F' diag(s) F, for c latent functions at once, so that  k'Ak = sum_r s_r (F k)_r^2  (1.7).

    With K = LL' and F = L^-1 a rounding error is multiplied by the condition of L, which is the root of that of
    K and of A itself: eight digits for a condition of 1e16 where the product with a dense A has none.
    """

    F: Float[Tensor, "#c r n"]
    s: Float[Tensor, "#c r"]
    prior: float = 1.0
    """The largest k(x,x), in whose units the size of A is judged."""

    @staticmethod
    def dense(A: Float[Tensor, "c n n"]) -> "Quadratic":
        """From the matrix itself, by its eigenvectors."""
        skew, size = (A - A.mT).abs().max(), A.abs().max()
        if skew > SYMMETRY * size:
            raise ValueError(f"A must be symmetric; got |A - A'| = {skew:.3g} where |A| = {size:.3g}.")
        s, Q = torch.linalg.eigh((A + A.mT) / 2)
        return Quadratic(Q.mT.contiguous(), s)

    @cached_property
    def matrix(self) -> Float[Tensor, "#c n n"]:
        """A itself."""
        return (self.F.mT * self.s[:, None]) @ self.F

    @cached_property
    def keeps_digits(self) -> bool:
        """Whether products with the matrix itself lose little, by its size, and forming it costs little."""
        if self.F.shape[2] > DENSE:
            return False
        bound = self.prior * self.F.square().sum(1).max() * self.s.abs().max()  # of the diagonal: cheaper than A
        return bool(bound <= LARGEST) and bool(self.prior * self.matrix.abs().sum(2).max() <= LARGEST)

    @cached_property
    def _each(self) -> "tuple[Quadratic, ...]":
        return tuple(Quadratic(self.F[[min(i, len(self.F) - 1)]], s[None], self.prior) for i, s in enumerate(self.s))

    def of(self, latent: int) -> "Quadratic":
        """That of one latent function."""
        return self._each[latent if len(self._each) > 1 else 0]

    def whiten(self, k: Float[Tensor, "b q n"]) -> Float[Tensor, "b #c q r"]:
        """F k."""
        return _times(k[:, None], self.F.mT)

    def unwhiten(self, w: Float[Tensor, "b #c q r"]) -> Float[Tensor, "b c q n"]:
        """A k, given w = F k."""
        return _times(w * self.s[:, None], self.F)

    def product(self, k: Float[Tensor, "b q n"]) -> "Product":
        """A k and k'Ak, through A in one product, or through F in two."""
        if self.keeps_digits:
            A_k = _times(k[:, None], self.matrix)
            return Product(A_k, (A_k * k[:, None]).sum(3))
        w = self.whiten(k)
        scaled = w * self.s[:, None]
        return Product(_times(scaled, self.F), (w * scaled).sum(3))


def _times(k: Float[Tensor, "b #c q n"], matrix: Float[Tensor, "#c n r"]) -> Float[Tensor, "b #c q r"]:
    """k_c matrix_c as one product for each latent function, rather than one for each row."""
    rows = k.transpose(0, 1).flatten(1, 2)
    return (rows @ matrix).unflatten(1, (k.shape[0], k.shape[2])).transpose(0, 1)


@final
@dataclass(frozen=True, eq=False)
class Product:
    """What a posterior takes from A."""

    A_k: Float[Tensor, "b #c q n"]
    form: Float[Tensor, "b #c q"]
    """k'Ak."""
