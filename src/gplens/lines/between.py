"""A kernel between the nodes of two lines, with its derivatives in both arguments (MATH 5.12)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.forms import embed

APART = 5e-6
"""The step h of a derivative at x = y, relative to the extent of all points."""
PairMatrix = Float[Tensor, "b q p d *d"]
"""A matrix over pairs of features for each pair of nodes, or its diagonal."""
Matrix = Float[Tensor, "b d *d"]
"""Such a matrix, summed over the pairs of nodes."""


@final
@dataclass(eq=False)
class Between:
    """k(x_q, y_p) for nodes x_q and y_p that lie on one line in each row. Adds and multiplies as functions do."""

    values: Float[Tensor, "b q p"]
    in_x: Callable[[], Float[Tensor, "b q p d"]]
    """Computes `by_x`."""
    in_y: Callable[[], Float[Tensor, "b q p d"]]
    """Computes `by_y`."""
    by_both: Callable[[bool], PairMatrix]
    """full -> d_k d_l' k(x_q, y_p), for all pairs of features if full, else for k = l."""
    summed: Callable[[Float[Tensor, "b q p"], bool], Matrix] | None = None
    """A faster way to  sum_qp H_qp d_k d_l' k(x_q, y_p), if the kernel has one."""
    chosen: "Callable[[Int[Tensor, ' k']], Between] | None" = None
    """A faster way to `columns`, if the kernel has one."""

    @cached_property
    def by_x(self) -> Float[Tensor, "b q p d"]:
        """d_k k(x_q, y_p), computed on first use."""
        return self.in_x()

    @cached_property
    def by_y(self) -> Float[Tensor, "b q p d"]:
        """d_l' k(x_q, y_p), computed on first use."""
        return self.in_y()

    def by_both_sum(self, H: Float[Tensor, "b q p"], *, full: bool) -> Matrix:
        """sum_qp H_qp d_k d_l' k(x_q, y_p)."""
        if self.summed is not None:
            return self.summed(H, full)
        return torch.einsum("bqp,bqp...->b...", H, self.by_both(full))

    def columns(self, dims: Int[Tensor, " k"]) -> "Between":
        """The same kernel, with derivatives in the features `dims` only."""
        if self.chosen is not None:
            return self.chosen(dims)
        return Between(
            self.values,
            lambda: self.by_x[..., dims],
            lambda: self.by_y[..., dims],
            lambda full: self.by_both(True)[..., dims, :][..., dims] if full else self.by_both(False)[..., dims],
        )

    def __add__(self, other: "Between") -> "Between":
        return Between(
            self.values + other.values,
            lambda: self.by_x + other.by_x,
            lambda: self.by_y + other.by_y,
            lambda full: self.by_both(full) + other.by_both(full),
            lambda H, full: self.by_both_sum(H, full=full) + other.by_both_sum(H, full=full),
            lambda dims: self.columns(dims) + other.columns(dims),
        )

    def __mul__(self, other: "Between") -> "Between":
        """The product rule, twice."""
        left, right = self.values[..., None], other.values[..., None]

        def by_both(full: bool) -> PairMatrix:
            axes = (..., None, None) if full else (..., None)
            crossed = _outer(self.by_x, other.by_y, full) + _outer(other.by_x, self.by_y, full)
            return self.values[axes] * other.by_both(full) + other.values[axes] * self.by_both(full) + crossed

        return Between(
            self.values * other.values,
            lambda: self.by_x * right + other.by_x * left,
            lambda: self.by_y * right + other.by_y * left,
            by_both,
            chosen=lambda dims: self.columns(dims) * other.columns(dims),
        )

    def scaled(self, factor: Float[Tensor, ""]) -> "Between":
        """factor * k."""
        return Between(
            factor * self.values,
            lambda: factor * self.by_x,
            lambda: factor * self.by_y,
            lambda full: factor * self.by_both(full),
            lambda H, full: factor * self.by_both_sum(H, full=full),
            lambda dims: self.columns(dims).scaled(factor),
        )

    def pulled_back(self, W: Float[Tensor, "d e"]) -> "Between":
        """Derivatives in x, if these are derivatives in x W."""
        return Between(
            self.values,
            lambda: self.by_x @ W.T,
            lambda: self.by_y @ W.T,
            lambda full: _pulled_back(self.by_both(True), W, full),
            lambda H, full: _pulled_back(self.by_both_sum(H, full=True), W, full),
            lambda chosen: self.pulled_back(W[chosen]),
        )

    def embedded(self, dims: Int[Tensor, " k"], features: int) -> "Between":
        """A kernel of the features `dims` as a kernel of all features; the derivatives in the others are zero."""
        return Between(
            self.values,
            lambda: embed(self.by_x, dims, features),
            lambda: embed(self.by_y, dims, features),
            lambda full: embed_matrix(self.by_both, dims, features, full=full),
            lambda H, full: embed_matrix(lambda wide: self.by_both_sum(H, full=wide), dims, features, full=full),
            lambda chosen: self._embedded_in(dims, chosen),
        )

    def _embedded_in(self, dims: Int[Tensor, " k"], chosen: Int[Tensor, " c"]) -> "Between":
        """A kernel of the features `dims` as a kernel of the features `chosen`, some of which are among `dims`."""
        inner, place = (dims[:, None] == chosen).nonzero(as_tuple=True)
        return self.columns(inner).embedded(place, len(chosen))


def embed_matrix(
    inner: Callable[[bool], Float[Tensor, "*batch k"]], dims: Int[Tensor, " k"], features: int, *, full: bool
) -> Float[Tensor, "*larger d"]:
    """inner(full), a matrix or its diagonal, written into its places among all features; zeros elsewhere.

    For a feature that occurs twice, the diagonal includes the products of its two places.
    """
    wide = full or len(dims.unique()) < len(dims)
    embedded = embed(inner(wide), dims, features)
    if not wide:
        return embedded
    embedded = embed(embedded.mT, dims, features).mT
    return embedded if full else embedded.diagonal(dim1=-2, dim2=-1)


def _pulled_back(
    matrix: Float[Tensor, "*pairs e e"], W: Float[Tensor, "d e"], full: bool
) -> Float[Tensor, "*larger d"]:
    """W matrix W', or its diagonal."""
    half = W @ matrix
    return half @ W.T if full else (half * W).sum(-1)


def _outer(left: Float[Tensor, "b q p d"], right: Float[Tensor, "b q p d"], full: bool) -> PairMatrix:
    return left[..., None] * right[..., None, :] if full else left * right


def stack(rows: list[Between]) -> Between:
    """Join rows that were computed one by one."""
    return Between(
        torch.cat([row.values for row in rows]),
        lambda: torch.cat([row.by_x for row in rows]),
        lambda: torch.cat([row.by_y for row in rows]),
        lambda full: torch.cat([row.by_both(full) for row in rows]),
    )


def cross_derivatives_by_autograd(
    k: Callable[[Tensor, Tensor], Tensor], X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"], *, full: bool
) -> Float[Tensor, "u w d *d"]:
    """d_k d_l' k(x_i, y_j)  (5.12), for all k and l if full, else for k = l, by a backward pass for each x_i and k.

    Distances that are clamped at zero have no derivative where x_i = y_j. There it is taken at x - h and x + h, which
    differs by O(h^2) because k is symmetric.
    """
    matrices = _cross_derivatives(k, X, Y)
    same = (X[:, None] == Y).all(2).nonzero()
    h = APART * (Y.amax(0) - Y.amin(0)) if len(Y) else Y.new_zeros(X.shape[1])
    for i, j in same.tolist() if bool((h > 0).any()) else ():
        matrices[i, j] = _cross_derivatives(k, X[[i]] - h, Y[[j]] + h)[0, 0]
    return matrices if full else matrices.diagonal(dim1=2, dim2=3)


def _cross_derivatives(
    k: Callable[[Tensor, Tensor], Tensor], X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"]
) -> Float[Tensor, "u w d d"]:
    with torch.enable_grad():
        x, y = X.detach().requires_grad_(), Y.detach().requires_grad_()
        V = torch.zeros(len(X), len(Y), dtype=X.dtype, requires_grad=True)
        weighted = _grad(k(x, y), x, V)  # sum_j V_ij d_k k_ij, linear in V: differentiating by V isolates each j
        slopes = [_grad(weighted[:, i].sum(), V) for i in range(X.shape[1])]
        rows = [torch.stack([_grad(slope[i].sum(), y) for slope in slopes], dim=1) for i in range(len(X))]
    return torch.stack(rows).detach()


def _grad(of: Tensor, by: Tensor, weights: Tensor | None = None) -> Tensor:
    """A derivative that can be differentiated again; zero if there is no dependence."""
    if not of.requires_grad:
        return torch.zeros_like(by)
    return torch.autograd.grad(of, by, weights, create_graph=True, materialize_grads=True)[0]
