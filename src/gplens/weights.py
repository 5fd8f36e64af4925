"""The weights that a pull-back multiplies gradients with, kept as products: W itself is the largest tensor of all."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
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
