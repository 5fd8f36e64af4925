"""What goes into a pull-back, weights kept as products, and what comes out, a linear form (MATH 4.3)."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor


@final
@dataclass(frozen=True, eq=False)
class Term:
    """W_pqn = sum_a U_paq V_an H_aqn: the channels in U, what is the same at all nodes of a line in V."""

    U: Float[Tensor, "b p a q"]
    V: Float[Tensor, "#b a n"] | None
    """None is one."""
    H: Float[Tensor, "b #a q *n"] | None
    """None is one. With V, all a share it."""

    def times(self, h: Float[Tensor, "b 1 q *n"]) -> "Term":
        """With a factor for each node and support point."""
        return replace(self, H=h if self.H is None else self.H * h)

    def over_nodes(self) -> Float[Tensor, "b p n"]:
        """sum_q W, in matrix products over q."""
        assert self.H is not None
        if self.V is None:
            return self.U.flatten(2) @ self.H.flatten(1, 2)
        summed = (self.U.flatten(1, 2) @ self.H[:, 0]).unflatten(1, self.U.shape[1:3])
        return _added(summed.mul_(self.V[:, None]))

    def over_points(self) -> Float[Tensor, "b p q"]:
        """sum_n W."""
        assert self.H is not None
        H = self.H.sum(3) if self.V is None else (self.H[:, 0] @ self.V.mT).mT
        return _added(self.U * H[:, None])

    def whole(self) -> Float[Tensor, "b p q *n"]:
        """W."""
        if self.V is None:
            assert self.H is not None
            return torch.einsum("bpaq,baq...->bpq...", self.U, self.H)
        W = torch.einsum("bpaq,ban->bpqn", self.U, self.V.expand(len(self.U), -1, -1))
        return W if self.H is None else W * self.H


@final
@dataclass(frozen=True, eq=False)
class Weights:
    """A sum of terms, for p channels at the q nodes of b lines."""

    terms: tuple[Term, ...]

    @staticmethod
    def varying(U: Float[Tensor, "b p a q"], H: Float[Tensor, "b a q *n"]) -> "Weights":
        """sum_a U_a H_a."""
        return Weights((Term(U, None, H),))

    @staticmethod
    def fixed(U: Float[Tensor, "b p a q"], V: Float[Tensor, "#b a n"]) -> "Weights":
        """sum_a U_a V_a with V the same at all nodes."""
        return Weights((Term(U, V, None),))

    def __add__(self, other: "Weights") -> "Weights":
        return Weights(self.terms + other.terms)

    def times(self, h: Float[Tensor, "b q *n"]) -> "Weights":
        """With a factor for each node and support point."""
        return Weights(tuple(term.times(h[:, None]) for term in self.terms))

    def scaled(self, factor: Float[Tensor, ""] | float) -> "Weights":
        """With a factor for all."""
        return Weights(tuple(replace(term, U=factor * term.U) for term in self.terms))

    def over_nodes(self) -> Float[Tensor, "b p n"]:
        """sum_q W."""
        first, *others = (term.over_nodes() for term in self.terms)
        for other in others:
            first += other
        return first

    def moment(self, t: Float[Tensor, "b q"]) -> Float[Tensor, "b p"]:
        """sum_qn t_q W."""
        return sum((term.over_points() @ t[..., None] for term in self.terms), start=t.new_zeros(()))[..., 0]

    def whole(self) -> Float[Tensor, "b p q *n"]:
        """W."""
        first, *others = (term.whole() for term in self.terms)
        return sum(others, start=first)


def _added(terms: Float[Tensor, "b p a *n"]) -> Float[Tensor, "b p *n"]:
    """sum_a; a single one as it is, which spares a copy."""
    return terms[:, :, 0] if terms.shape[2] == 1 else terms.sum(2)


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
