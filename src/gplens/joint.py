"""f and its gradient at the nodes of one path, jointly Gaussian: what error bars are made of (MATH 5)."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor


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
