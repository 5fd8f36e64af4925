"""Linear forms in the features, which pull-backs return, and quadratic forms of kernel values (MATH 1.7, 4.3)."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.shapes import New

Shared = tuple[Float[Tensor, "b p _"], Float[Tensor, "_ d"]]
CONCATENATED = 2**21
"""The most numbers (16 MB) that are copied to replace several matrix products by one."""


@final
@dataclass(frozen=True, eq=False)
class Form:
    """sum C R + y o (C S) + dense: the (b, p, d) result of a pull-back, not yet multiplied out.

    Adding forms concatenates their terms, so that all kernels and latent functions share one product over the features.
    """

    shared: tuple[Shared, ...] = ()
    """Coefficients C, and rows R of features that all b rows share, such as the support points."""
    by_row: tuple[tuple[Float[Tensor, "b p s"], Float[Tensor, "s d"], Float[Tensor, "b d"]], ...] = ()
    """Coefficients C, rows S of factors of the features, and the features y of each row."""
    dense: tuple[Float[Tensor, "b p d"], ...] = ()
    """Terms that are already multiplied out."""

    def __add__(self, other: "Form") -> "Form":
        return Form(self.shared + other.shared, self.by_row + other.by_row, self.dense + other.dense)

    def take(self, rows: Int[Tensor, " k"]) -> "Form":
        """Some of the rows."""
        return Form(
            tuple((C[rows], R) for C, R in self.shared),
            tuple((C[rows], S, y[rows]) for C, S, y in self.by_row),
            tuple(term[rows] for term in self.dense),
        )

    def channels(self, chosen: slice) -> "Form":
        """Some of the channels."""
        return Form(
            tuple((C[:, chosen], R) for C, R in self.shared),
            tuple((C[:, chosen], S, y) for C, S, y in self.by_row),
            tuple(term[:, chosen] for term in self.dense),
        )

    def columns(self, chosen: Int[Tensor, " k"]) -> "Form":
        """Some of the features. Rows whose features are in the first axis of their memory are copied fastest."""
        return Form(
            tuple((C, R.mT[chosen].mT) for C, R in self.shared),
            tuple((C, S[:, chosen], y[:, chosen]) for C, S, y in self.by_row),
            tuple(term[..., chosen] for term in self.dense),
        )

    def contracted(self, d: Float[Tensor, "b d"], P: Float[Tensor, "d s"], channels: int) -> Float[Tensor, "b p s"]:
        """sum_k form_k d_k P_ks: s combinations of features for each channel, without multiplying out the features."""
        V = d[:, :, None] * P
        if not (self.shared or self.by_row or self.dense):
            return V.new_zeros(d.shape[0], channels, P.shape[1])
        parts = [C @ torch.einsum("nd,bds->bns", R, V) for C, R in self.shared]
        parts += [C @ ((S * y[:, None]) @ V) for C, S, y in self.by_row]
        parts += [term @ V for term in self.dense]
        return sum(parts[1:], start=parts[0])

    def embedded(self, dims: Int[Tensor, " k"], features: int) -> "Form":
        """A form in the features `dims`, which may repeat, as a form in all features, zero in the others."""
        return Form(
            tuple((C, embed(R, dims, features)) for C, R in self.shared),
            tuple(
                (C[..., [i]], S.new_ones(1, features), embed(S[i] * y, dims, features))
                for C, S, y in self.by_row
                for i in range(len(S))
            ),
            tuple(embed(term, dims, features) for term in self.dense),
        )

    def evaluate(self, out: Float[Tensor, "b p d"]) -> Float[Tensor, "b p d"]:
        """Multiply out into `out`, which is set to zero if there are no terms."""
        self._evaluate_shared(out.view(-1, out.shape[2]))
        for y, C, S in self._grouped_by_row():
            out.addcmul_(C @ S, y[:, None])
        for term in self.dense:
            out.add_(term)
        return out

    def _evaluate_shared(self, out: Float[Tensor, "bp d"]) -> None:
        """One product for all single rows, then one for each set of support points; or one for all, if cheaper."""
        thin = [term for term in self.shared if term[1].shape[0] == 1]
        thick = [term for term in self.shared if term[1].shape[0] != 1]
        terms, (p, d) = ([_concatenated(thin)] if thin else []) + thick, out.shape
        rows = sum(R.shape[0] for _, R in terms)
        if 2 * rows * (p + d) < (len(terms) - 1) * p * d and rows * d <= CONCATENATED:
            terms = [_concatenated(terms)]
        if not terms:
            out.zero_()
        for i, (C, R) in enumerate(terms):
            torch.addmm(out, C.flatten(0, 1), R, beta=min(i, 1), out=out)  # beta = 0 ignores what `out` held before

    def _grouped_by_row(self) -> list[tuple[Float[Tensor, "b d"], Float[Tensor, "b p _"], Float[Tensor, "_ d"]]]:
        """Terms with the same features y, stacked."""
        groups: dict[int, list[tuple[Tensor, Tensor, Tensor]]] = {}
        for C, S, y in self.by_row:
            groups.setdefault(id(y), []).append((C, S, y))
        return [(group[0][2], *_concatenated([(C, S) for C, S, _ in group])) for group in groups.values()]


def _concatenated(terms: list[Shared]) -> Shared:
    if len(terms) == 1:
        return terms[0]
    return torch.cat([C for C, _ in terms], 2), torch.cat([R for _, R in terms])


def embed(inner: Float[Tensor, "*batch k"], dims: Int[Tensor, " k"], features: int) -> Float[Tensor, "*batch d"]:
    """Write values of the features `dims` into their places among all features, with zeros elsewhere."""
    return inner.new_zeros(*inner.shape[:-1], features).index_add_(-1, dims, inner)


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
        bound = (self.s.abs()[:, None] @ self.F.square()).max()  # of the entries, from the diagonal of F' diag(|s|) F
        return bool(self.prior * bound <= LARGEST) and bool(self.prior * self.matrix.abs().sum(2).max() <= LARGEST)

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
