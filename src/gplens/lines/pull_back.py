"""What enters a pull-back, weights kept as products, and what leaves it, a linear form in the features (MATH 4.3)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.scratch import New

Shared = tuple[Float[Tensor, "b p _"], Float[Tensor, "_ d"]]

CONCATENATED = 2**21
"""The most numbers (16 MB) that are copied in order to turn several matrix products into one."""


@final
@dataclass(frozen=True, eq=False)
class Term:
    """W_pqn = sum_a U_paq V_an H_aqn. U differs between channels, V is the same at all nodes of a line."""

    U: Float[Tensor, "b p a q"]
    V: Float[Tensor, "#b a n"] | None
    """None stands for ones."""
    H: Float[Tensor, "b #a q *n"] | None
    """None stands for ones. If V is given, all a share one H."""

    def times(self, h: Float[Tensor, "b 1 q *n"], new: New) -> "Term":
        """Multiplied by a factor for each node and support point."""
        return Term(self.U, self.V, h if self.H is None else torch.mul(self.H, h, out=new(self.H)))

    def over_nodes(self) -> Float[Tensor, "b p n"]:
        """sum_q W, as matrix products over q."""
        assert self.H is not None
        if self.V is None:
            return self.U.flatten(2) @ self.H.flatten(1, 2)
        products = (self.U.flatten(1, 2) @ self.H[:, 0]).unflatten(1, self.U.shape[1:3])
        return _sum_of_terms(products.mul_(self.V[:, None]))

    def over_points(self) -> Float[Tensor, "b p q"]:
        """sum_n W."""
        assert self.H is not None
        H = self.H.sum(3) if self.V is None else (self.H[:, 0] @ self.V.mT).mT
        return _sum_of_terms(self.U * H[:, None])

    def dense(self) -> Float[Tensor, "b p q *n"]:
        """W itself."""
        if self.V is None:
            assert self.H is not None
            return torch.einsum("bpaq,baq...->bpq...", self.U, self.H)
        W = torch.einsum("bpaq,ban->bpqn", self.U, self.V.expand(self.U.shape[0], -1, -1))
        return W if self.H is None else W * self.H


@final
@dataclass(frozen=True, eq=False)
class Weights:
    """The weights W of a pull-back, for p channels at the q nodes of b lines, as a sum of terms.

    W is the largest tensor of an explanation. Its factors are kept instead, and summed over q where possible.
    """

    terms: tuple[Term, ...]

    @staticmethod
    def varying(U: Float[Tensor, "b p a q"], H: Float[Tensor, "b a q *n"]) -> "Weights":
        """sum_a U_a H_a."""
        return Weights((Term(U, None, H),))

    @staticmethod
    def fixed(U: Float[Tensor, "b p a q"], V: Float[Tensor, "#b a n"]) -> "Weights":
        """sum_a U_a V_a, with V the same at all nodes."""
        return Weights((Term(U, V, None),))

    def __add__(self, other: "Weights") -> "Weights":
        return Weights(self.terms + other.terms)

    def times(self, h: Float[Tensor, "b q *n"], new: New = torch.empty_like) -> "Weights":
        """Multiplied by a factor for each node and support point, in tensors which `new` may make."""
        return Weights(tuple(term.times(h[:, None], new) for term in self.terms))

    def scaled(self, factor: Float[Tensor, ""] | float) -> "Weights":
        """Multiplied by one number."""
        return Weights(tuple(Term(factor * term.U, term.V, term.H) for term in self.terms))

    def over_nodes(self) -> Float[Tensor, "b p n"]:
        """sum_q W."""
        first, *others = (term.over_nodes() for term in self.terms)
        for other in others:
            first += other
        return first

    def moment(self, t: Float[Tensor, "b q"]) -> Float[Tensor, "b p"]:
        """sum_qn t_q W."""
        return sum((term.over_points() @ t[..., None] for term in self.terms), start=t.new_zeros(()))[..., 0]

    def dense(self) -> Float[Tensor, "b p q *n"]:
        """W itself."""
        first, *others = (term.dense() for term in self.terms)
        return sum(others, start=first)


def _sum_of_terms(terms: Float[Tensor, "b p a *n"]) -> Float[Tensor, "b p *n"]:
    """sum_a, without a copy if there is a single a."""
    return terms[:, :, 0] if terms.shape[2] == 1 else terms.sum(2)


@final
@dataclass(frozen=True, eq=False)
class Form:
    """sum C R + y o (C S) + dense: the (b, p, d) result of a pull-back, not yet multiplied out.

    Adding forms concatenates their terms, so that all kernels and latent functions share one product over the features.
    """

    shared: tuple[Shared, ...] = ()
    """Coefficients C, and rows R of features that all b rows have in common, such as the support points."""
    by_row: tuple[tuple[Float[Tensor, "b p"], Float[Tensor, " d"], Float[Tensor, "b d"]], ...] = ()
    """Coefficients C, factors S of the features, and the features y of each row."""
    dense: tuple[Float[Tensor, "b p d"], ...] = ()
    """Terms that are available only multiplied out."""

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
        """sum_k form_k d_k P_ks: combinations of features of so many channels, without the features themselves."""
        V = d[:, :, None] * P
        if not (self.shared or self.by_row or self.dense):
            return V.new_zeros(d.shape[0], channels, P.shape[1])
        parts = [C @ torch.einsum("nd,bds->bns", R, V) for C, R in self.shared]
        parts += [C[..., None] * ((S * y)[:, None] @ V) for C, S, y in self.by_row]
        parts += [term @ V for term in self.dense]
        return sum(parts[1:], start=parts[0])

    def embedded(self, dims: Int[Tensor, " k"], features: int) -> "Form":
        """A form in the features `dims`, any of them once or more, as one in all features, zero in the others."""
        return Form(
            tuple((C, embed(R, dims, features)) for C, R in self.shared),
            tuple((C, S.new_ones(features), embed(S * y, dims, features)) for C, S, y in self.by_row),
            tuple(embed(term, dims, features) for term in self.dense),
        )

    def evaluate(self, out: Float[Tensor, "b p d"]) -> Float[Tensor, "b p d"]:
        """Multiply out into `out`, which is zero if there are no terms."""
        self._evaluate_shared(out.view(-1, out.shape[2]))
        for y, C, S in self._grouped_by_row():
            out.addcmul_(C @ S, y[:, None])
        for term in self.dense:
            out.add_(term)
        return out

    def _evaluate_shared(self, out: Float[Tensor, "bp d"]) -> None:
        """Single rows in one product, then each set of support points; everything in one if that moves less memory."""
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
            (group[0][2], torch.stack([C for C, _, _ in group], 2), torch.stack([S for _, S, _ in group]))
            for group in groups.values()
        ]


def _concatenated(terms: list[Shared]) -> Shared:
    return torch.cat([C for C, _ in terms], 2), torch.cat([R for _, R in terms])


def embed(inner: Float[Tensor, "*batch k"], dims: Int[Tensor, " k"], features: int) -> Float[Tensor, "*batch d"]:
    """Values of the features `dims` written into their places among all features; zeros elsewhere."""
    return inner.new_zeros(*inner.shape[:-1], features).index_add_(-1, dims, inner)
