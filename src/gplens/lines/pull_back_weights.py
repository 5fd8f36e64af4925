"""The weights that enter a pull-back, kept as products (MATH 4.2)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.shapes import New


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
        """W itself, with an entry for each node and support point."""
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
        """Multiplied by a factor for each node and support point; `new` allocates the tensors."""
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
