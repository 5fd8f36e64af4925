"""Pull-backs as linear forms in the features, added up before any feature is touched (MATH 4.3)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

Shared = tuple[Float[Tensor, "b p _"], Float[Tensor, "_ d"]]

BESIDE = 2**21
"""Numbers of the rows that are copied to be side by side, at the most: 16 MB."""


@final
@dataclass(frozen=True, eq=False)
class Form:
    """sum C R + y o (C S) + dense: what p channels of b rows pull back, (b, p, d), not yet multiplied out.

    A sum of forms lists their terms, so that kernels and latent functions share one product over the features.
    """

    shared: tuple[Shared, ...] = ()
    """Coefficients, and rows of features that all b rows have in common, such as the support points."""
    own: tuple[tuple[Float[Tensor, "b p"], Float[Tensor, " d"], Float[Tensor, "b d"]], ...] = ()
    """Coefficients, factors of the features, and the features y of each row itself."""
    dense: tuple[Float[Tensor, "b p d"], ...] = ()
    """What is known only multiplied out."""

    def __add__(self, other: "Form") -> "Form":
        return Form(self.shared + other.shared, self.own + other.own, self.dense + other.dense)

    def embedded(self, dims: Int[Tensor, " k"], features: int) -> "Form":
        """A form in some of the features as one in all of them, zero in the others."""
        return Form(
            tuple((C, embed(R, dims, features)) for C, R in self.shared),
            tuple((C, embed(S, dims, features), embed(y, dims, features)) for C, S, y in self.own),
            tuple(embed(one, dims, features) for one in self.dense),
        )

    def evaluate(self, out: Float[Tensor, "b p d"]) -> Float[Tensor, "b p d"]:
        """Multiplied out into `out`: one product over the features, zero where there is no term."""
        if self.dtype not in (None, out.dtype):
            return out.copy_(self.evaluate(torch.empty_like(out, dtype=self.dtype)))
        self._shared(out.view(-1, out.shape[2]))
        for y, C, S in self._by_row():
            out.addcmul_(C @ S, y[:, None])
        for one in self.dense:
            out.add_(one)
        return out

    @property
    def dtype(self) -> torch.dtype | None:
        """The precision of the terms; None where there are none."""
        terms = [C for C, *_ in (*self.shared, *self.own)] + list(self.dense)
        return terms[0].dtype if terms else None

    def _shared(self, out: Float[Tensor, "bp d"]) -> None:
        """The single rows in one product, then each set of support points; all in one where that moves less."""
        thin, thick = ([term for term in self.shared if (len(term[1]) == 1) is one] for one in (True, False))
        terms, (p, d) = ([_beside(thin)] if thin else []) + thick, out.shape
        rows = sum(len(R) for _, R in terms)
        if 2 * rows * (p + d) < (len(terms) - 1) * p * d and rows * d <= BESIDE:
            terms = [_beside(terms)]
        if not terms:
            out.zero_()
        for i, (C, R) in enumerate(terms):
            torch.addmm(out, C.flatten(0, 1), R, beta=min(i, 1), out=out)  # beta = 0: what was there is not read

    def _by_row(self) -> list[tuple[Float[Tensor, "b d"], Float[Tensor, "b p _"], Float[Tensor, "_ d"]]]:
        """The terms that multiply the same features of the rows, together."""
        groups: dict[int, list[tuple[Tensor, Tensor, Tensor]]] = {}
        for C, S, y in self.own:
            groups.setdefault(id(y), []).append((C, S, y))
        return [
            (group[0][2], torch.stack([C for C, _, _ in group], 2), torch.stack([S for _, S, _ in group]))
            for group in groups.values()
        ]


def _beside(terms: list[Shared]) -> Shared:
    """Several sets of rows as one."""
    return torch.cat([C for C, _ in terms], 2), torch.cat([R for _, R in terms])


def embed(inner: Float[Tensor, "*batch k"], dims: Int[Tensor, " k"], features: int) -> Float[Tensor, "*batch d"]:
    """Values for some of the features put into their places, zeros elsewhere."""
    return inner.new_zeros(*inner.shape[:-1], features).index_add_(-1, dims, inner)
