"""The matrix A of a posterior, in a form that keeps the digits of the variance (MATH 1.7)."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.scratch import New

SYMMETRY = 1e-8
"""The largest accepted |A - A'| relative to the largest entry of A. Rounding in a solve may leave 1e-10."""

DENSE = 2048
"""The most support points for which A is formed: for more, O(n^3) costs more than the products that it saves."""
LARGEST = 1e3
"""The largest size of A, in units of the prior, for which one product with A replaces two with F; loses 3 digits."""


@final
@dataclass(eq=False)
class Quadratic:
    """A = F' diag(s) F, for c latent functions at once, so that  k'Ak = sum_r s_r (F k)_r^2  (1.7).

    With K = LL' and F = L^-1 a rounding error is multiplied by the condition number of L, the root of that of K and
    of A: for a condition number of 1e16 eight digits are left, where a product with a dense A has none.

    Example:
        >>> A = gplens.Quadratic.dense(torch.eye(3).double()[None])
        >>> A.matrix.shape
        torch.Size([1, 3, 3])
    """

    F: Float[Tensor, "#c r n"]
    s: Float[Tensor, "#c r"]
    prior: float = 1.0
    """The largest k(x,x), the unit in which the size of A is measured."""

    @staticmethod
    def dense(A: Float[Tensor, "c n n"]) -> "Quadratic":
        """From A itself, through its eigenvectors. Raises a ValueError if A is not symmetric."""
        skew, size = (A - A.mT).abs().max(), A.abs().max()
        if skew > SYMMETRY * size:
            raise ValueError(f"expected a symmetric A, got |A - A'| = {skew:.3g} with |A| = {size:.3g}.")
        s, Q = torch.linalg.eigh((A + A.mT) / 2)
        return Quadratic(Q.mT.contiguous(), s)

    @cached_property
    def matrix(self) -> Float[Tensor, "#c n n"]:
        """A itself, formed when it is first used."""
        return (self.F.mT * self.s[:, None]) @ self.F

    @cached_property
    def keeps_digits(self) -> bool:
        """Whether products with A itself lose few digits and A is cheap to form."""
        if self.F.shape[2] > DENSE:
            return False
        bound = self.prior * self.F.square().sum(1).max() * self.s.abs().max()  # from the diagonal, without forming A
        return bool(bound <= LARGEST) and bool(self.prior * self.matrix.abs().sum(2).max() <= LARGEST)

    @cached_property
    def single(self) -> "tuple[Quadratic, ...]":
        """The number of matrices: one for each latent function, or one that all share."""
        return tuple(Quadratic(self.F[[min(i, len(self.F) - 1)]], s[None], self.prior) for i, s in enumerate(self.s))

    def of(self, latent: int) -> "Quadratic":
        """The quadratic form of one latent function."""
        return self.single[latent if len(self.single) > 1 else 0]

    def whiten(self, k: Float[Tensor, "b q n"]) -> Float[Tensor, "b #c q r"]:
        """F k."""
        return _times(k[:, None], self.F.mT)

    def unwhiten(self, w: Float[Tensor, "b #c q r"]) -> Float[Tensor, "b c q n"]:
        """A k, given w = F k."""
        return _times(w * self.s[:, None], self.F)

    def product(self, k: Float[Tensor, "b q n"], new: New = torch.empty_like) -> "QuadraticProduct":
        """A k and k'Ak: one product with A if that keeps enough digits, else two products with F."""
        if self.keeps_digits:
            A_k = _times(k[:, None], self.matrix, new)
            return QuadraticProduct(A_k, _row_sums(A_k, k[:, None], new))
        w = _times(k[:, None], self.F.mT, new)
        scaled = w * self.s[:, None]
        return QuadraticProduct(_times(scaled, self.F, new), _row_sums(w, scaled, new))


def _times(
    k: Float[Tensor, "b #c q n"], matrix: Float[Tensor, "#c n r"], new: New = torch.empty_like
) -> Float[Tensor, "b #c q r"]:
    """k_c matrix_c, as one matrix product per latent function instead of one per row."""
    rows = k.transpose(0, 1).flatten(1, 2)
    if rows.shape[0] == matrix.shape[0] == 1 and matrix.shape[1] == matrix.shape[2]:
        product = torch.mm(rows[0], matrix[0], out=new(rows[0]))[None]
    else:
        product = rows @ matrix
    return product.unflatten(1, (k.shape[0], k.shape[2])).transpose(0, 1)


def _row_sums(a: Float[Tensor, "b #c q n"], b: Float[Tensor, "b #c q n"], new: New) -> Float[Tensor, "b c q"]:
    """sum_n a b."""
    return (torch.mul(a, b, out=new(a)) if a.shape == b.shape else a * b).sum(3)


@final
@dataclass(frozen=True, eq=False)
class QuadraticProduct:
    """The products of a quadratic form with kernel values."""

    A_k: Float[Tensor, "b #c q n"]
    form: Float[Tensor, "b #c q"]
    """k'Ak."""
