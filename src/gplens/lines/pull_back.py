"""The result of a pull-back: a linear form in the features, not yet multiplied out (MATH 4.3)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

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
        return [
            (group[0][2], torch.cat([C for C, _, _ in group], 2), torch.cat([S for _, S, _ in group]))
            for group in groups.values()
        ]


def _concatenated(terms: list[Shared]) -> Shared:
    return torch.cat([C for C, _ in terms], 2), torch.cat([R for _, R in terms])


def embed(inner: Float[Tensor, "*batch k"], dims: Int[Tensor, " k"], features: int) -> Float[Tensor, "*batch d"]:
    """Write values of the features `dims` into their places among all features, with zeros elsewhere."""
    return inner.new_zeros(*inner.shape[:-1], features).index_add_(-1, dims, inner)
