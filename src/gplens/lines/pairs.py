"""A latent function and its gradient at pairs of nodes, jointly Gaussian, from which error bars follow (MATH 5)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

from jaxtyping import Float
from torch import Tensor

from gplens.lines.between import Between
from gplens.lines.line import Line


@final
@dataclass(frozen=True, eq=False)
class NodeMarginals:
    """Means and variances at the nodes of b lines, and their gradients."""

    m: Float[Tensor, "b q"]
    v: Float[Tensor, "b q"]
    """The variances, including the host's jitter, which is not part of the covariances between nodes."""
    m_k: Float[Tensor, "b q d"]
    v_k: Float[Tensor, "b q d"]

    def combined(self, weight: float, other: "NodeMarginals", other_weight: float) -> "NodeMarginals":
        """The marginals of weight f + other_weight f', for independent f and f'."""
        a, b = weight**2, other_weight**2
        return NodeMarginals(
            weight * self.m + other_weight * other.m,
            a * self.v + b * other.v,
            weight * self.m_k + other_weight * other.m_k,
            a * self.v_k + b * other.v_k,
        )

    def with_jitter(self, jitter: float) -> "NodeMarginals":
        """With a variance added that no two nodes share."""
        return NodeMarginals(self.m, self.v + jitter, self.m_k, self.v_k)

    def pulled_back(self, W: Float[Tensor, "d e"]) -> "NodeMarginals":
        """Gradients in x, if these are gradients in x W."""
        return NodeMarginals(self.m, self.v, self.m_k @ W.T, self.v_k @ W.T)


@final
@dataclass(frozen=True, eq=False)
class Pairs:
    """One latent function at nodes x_q ("left") and y_p ("right") of b lines.

    The covariances of gradients, which are the largest part, are computed when one of the two callables is called.
    """

    left: NodeMarginals
    right: NodeMarginals
    c: Float[Tensor, "b q p"]
    """Cov(f_q, f_p)."""
    c_k: Float[Tensor, "b p q d"]
    """Cov(f_p, d_k f_q)."""
    c_l: Float[Tensor, "b q p d"]
    """Cov(f_q, d_l f_p). The same tensor as `c_k` if the nodes are the same on both sides."""
    gradient_sum: Callable[[Float[Tensor, "b q p"], bool], Float[Tensor, "b d *d"]]
    """(H, full) -> sum_qp H_qp Cov(d_k f_q, d_l f_p), for all pairs of features if full, else for k = l."""
    gradients: Callable[[bool], Float[Tensor, "b q p d *d"]]
    """full -> Cov(d_k f_q, d_l f_p) of every pair of nodes, for all pairs of features if full, else for k = l."""

    @property
    def square(self) -> bool:
        """Whether the nodes are the same on both sides."""
        return self.left is self.right

    def combined(self, weight: float, other: "Pairs", other_weight: float) -> "Pairs":
        """The pairs of weight f + other_weight f', for independent f and f'."""
        a, b = weight**2, other_weight**2
        left, c_k = self.left.combined(weight, other.left, other_weight), a * self.c_k + b * other.c_k
        return Pairs(
            left,
            left if self.square else self.right.combined(weight, other.right, other_weight),
            a * self.c + b * other.c,
            c_k,
            c_k if self.square else a * self.c_l + b * other.c_l,
            lambda H, full: a * self.gradient_sum(H, full) + b * other.gradient_sum(H, full),
            lambda full: a * self.gradients(full) + b * other.gradients(full),
        )

    def with_jitter(self, jitter: float) -> "Pairs":
        """With a variance added that no two nodes share."""
        left = self.left.with_jitter(jitter)
        right = left if self.square else self.right.with_jitter(jitter)
        return Pairs(left, right, self.c, self.c_k, self.c_l, self.gradient_sum, self.gradients)

    def as_between(self) -> Between:
        """The same covariances as those of a prior."""
        return Between(
            self.c,
            lambda: self.c_k.transpose(1, 2),
            lambda: self.c_l,
            self.gradients,
            self.gradient_sum,
        )


@final
@dataclass(frozen=True, eq=False)
class SplitPairs:
    """One latent function at the nodes of b lines, with covariances  c = prior - fitted  (5.13).

    The fitted part is as smooth along a line as the posterior mean, and is interpolated from these nodes. The prior has
    a ridge where two nodes meet if the kernel is rough; it is evaluated where it is needed.
    """

    at: NodeMarginals
    jitter: Float[Tensor, "b q"]
    """The part of v that no two nodes share."""
    c: Float[Tensor, "b q p"] | None
    """The fitted part of Cov(f_q, f_p); None if nothing counts as fitted."""
    c_l: Float[Tensor, "b q p d"] | None
    """The fitted part of Cov(f_q, d_l f_p), or None."""
    gradient_sum: Callable[[Float[Tensor, "b q p"], bool], Float[Tensor, "b d *d"]]
    """(H, full) -> sum_qp H_qp times the fitted part of Cov(d_k f_q, d_l f_p), for k = l unless full."""
    prior: Callable[[Line, Line], Between]
    """The covariances of the prior between other nodes of the same lines."""

    @staticmethod
    def unsplit(
        at: NodeMarginals, jitter: Float[Tensor, "b q"], prior: Callable[[Line, Line], Between]
    ) -> "SplitPairs":
        """With everything in the prior, for a process that does not say what is fitted."""

        def nothing(H: Float[Tensor, "b q p"], full: bool) -> Float[Tensor, "b d *d"]:
            return H.new_zeros(()).expand(len(H), *at.m_k.shape[2:] * (2 if full else 1))

        return SplitPairs(at, jitter, None, None, nothing, prior)

    def combined(self, weight: float, other: "SplitPairs", other_weight: float) -> "SplitPairs":
        """The pairs of weight f + other_weight f', for independent f and f'."""
        a, b = weight**2, other_weight**2
        factor, other_factor = self.jitter.new_tensor(a), self.jitter.new_tensor(b)
        return SplitPairs(
            self.at.combined(weight, other.at, other_weight),
            a * self.jitter + b * other.jitter,
            _combined(a, self.c, b, other.c),
            _combined(a, self.c_l, b, other.c_l),
            lambda H, full: a * self.gradient_sum(H, full) + b * other.gradient_sum(H, full),
            lambda left, right: self.prior(left, right).scaled(factor) + other.prior(left, right).scaled(other_factor),
        )

    def with_jitter(self, jitter: float) -> "SplitPairs":
        """With a variance added that no two nodes share."""
        return replace(self, at=self.at.with_jitter(jitter), jitter=self.jitter + jitter)

    def pulled_back(self, W: Float[Tensor, "d e"], prior: Callable[[Line, Line], Between]) -> "SplitPairs":
        """Gradients in x, if these are gradients in x W; with the prior in x."""

        def gradient_sum(H: Float[Tensor, "b q p"], full: bool) -> Float[Tensor, "b d *d"]:
            half = W @ self.gradient_sum(H, True)
            return half @ W.T if full else (half * W).sum(2)

        c_l = None if self.c_l is None else self.c_l @ W.T
        return SplitPairs(self.at.pulled_back(W), self.jitter, self.c, c_l, gradient_sum, prior)


def _combined(a: float, x: Tensor | None, b: float, y: Tensor | None) -> Tensor | None:
    """a x + b y, with None for zero."""
    if x is None or y is None:
        return None if x is y else b * y if x is None and y is not None else a * x if x is not None else None
    return a * x + b * y
