"""A latent function and its gradient at pairs of nodes, jointly Gaussian: what error bars are made of (MATH 5)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor


@final
@dataclass(frozen=True, eq=False)
class Nodes:
    """The marginals at the nodes of b lines, and their gradients."""

    m: Float[Tensor, "b q"]
    v: Float[Tensor, "b q"]
    """With the host's jitter, which the covariances between nodes do not have."""
    m_k: Float[Tensor, "b q d"]
    v_k: Float[Tensor, "b q d"]

    def mixed(self, weight: float, other: "Nodes", other_weight: float) -> "Nodes":
        """weight f + other_weight f', for independent f and f'."""
        a, b = weight**2, other_weight**2
        return Nodes(
            weight * self.m + other_weight * other.m,
            a * self.v + b * other.v,
            weight * self.m_k + other_weight * other.m_k,
            a * self.v_k + b * other.v_k,
        )

    def with_jitter(self, jitter: float) -> "Nodes":
        """More variance that no two nodes share."""
        return Nodes(self.m, self.v + jitter, self.m_k, self.v_k)


@final
@dataclass(frozen=True, eq=False)
class Pairs:
    """One latent function at nodes x_q ("left") and y_p ("right") of b lines."""

    left: Nodes
    right: Nodes
    c: Float[Tensor, "b q p"]
    """Cov(f_q, f_p)."""
    c_k: Float[Tensor, "b p q d"]
    """Cov(f_p, d_k f_q)."""
    c_l: Float[Tensor, "b q p d"]
    """Cov(f_q, d_l f_p): the same tensor where the nodes are."""
    gradients: Callable[[Float[Tensor, "b q p"], bool], Float[Tensor, "b d *d"]]
    """sum_qp H_qp Cov(d_k f_q, d_l f_p), for all pairs of features or for k = l."""

    @property
    def square(self) -> bool:
        """Whether the nodes are the same on both sides."""
        return self.left is self.right

    def mixed(self, weight: float, other: "Pairs", other_weight: float) -> "Pairs":
        """weight f + other_weight f', for independent f and f'."""
        a, b = weight**2, other_weight**2
        left, c_k = self.left.mixed(weight, other.left, other_weight), a * self.c_k + b * other.c_k
        return Pairs(
            left,
            left if self.square else self.right.mixed(weight, other.right, other_weight),
            a * self.c + b * other.c,
            c_k,
            c_k if self.square else a * self.c_l + b * other.c_l,
            lambda H, full: a * self.gradients(H, full) + b * other.gradients(H, full),
        )

    def with_jitter(self, jitter: float) -> "Pairs":
        """More variance that no two nodes share."""
        left = self.left.with_jitter(jitter)
        right = left if self.square else self.right.with_jitter(jitter)
        return Pairs(left, right, self.c, self.c_k, self.c_l, self.gradients)


@final
@dataclass(frozen=True, eq=False)
class Joint:
    """Means and covariances of f(x_q) and d_k f(x_q) for one latent function on one path.

    `c_kl` has two feature axes, or one where only its diagonal was asked for.
    """

    m: Float[Tensor, " q"]
    v: Float[Tensor, " q"]
    """With the host's jitter, which c does not have."""
    c: Float[Tensor, "q q"]
    """Cov(f_q, f_p)."""
    m_k: Float[Tensor, "q d"]
    v_k: Float[Tensor, "q d"]
    c_k: Float[Tensor, "q q d"]
    """Cov(d_k f_q, f_p)."""
    c_kl: Float[Tensor, "q q d *d"]
    """Cov(d_k f_q, d_l f_p)."""

    def mixed(self, weight: float, other: "Joint", other_weight: float) -> "Joint":
        """weight f + other_weight f', for independent f and f'."""
        linear, quadratic = ("m", "m_k"), ("v", "c", "v_k", "c_k", "c_kl")
        sums = {name: weight * getattr(self, name) + other_weight * getattr(other, name) for name in linear}
        for name in quadratic:
            sums[name] = weight**2 * getattr(self, name) + other_weight**2 * getattr(other, name)
        return Joint(**sums)

    def with_jitter(self, jitter: float) -> "Joint":
        """More of the variance that no two nodes share."""
        return Joint(self.m, self.v + jitter, self.c, self.m_k, self.v_k, self.c_k, self.c_kl)
