"""One latent function of a posterior at the nodes of lines, for error bars (MATH 5)."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Section
from gplens.lines.pairs import Nodes
from gplens.lines.quadratic import Quadratic


@final
@dataclass(frozen=True, eq=False)
class Side:
    """The sections that a latent function is made of, and what its covariances need of them."""

    k: Section
    prior_mean: Section
    prior_variance: Section
    m: Float[Tensor, "b q"]
    v: Float[Tensor, "b q"]
    beta: Float[Tensor, " n"]
    A: Quadratic
    """Of this latent function alone."""

    @cached_property
    def w(self) -> Float[Tensor, "b q r"]:
        """F k."""
        return self.A.whiten(self.k.values)[:, 0]

    @cached_property
    def fitted(self) -> Float[Tensor, "b q n"]:
        """A k = F' s F k."""
        return self.A.unwhiten(self.w[:, None])[:, 0]

    def by_node(self, A_k: Float[Tensor, "b p n"]) -> Float[Tensor, "b p q d"]:
        """d_k k(x_q,Z) A k(Z,y_p) for all nodes y_p."""
        return self.k.by_node(A_k[:, :, None].expand(-1, -1, self.m.shape[1], -1))

    @cached_property
    def nodes(self) -> Nodes:
        """The marginals with their gradients: one pull-back with the channels beta and -2 A k  (1.4, 1.5)."""
        W = torch.stack([self.beta.expand_as(self.fitted), -2 * self.fitted], dim=1)
        by_beta, by_A_k = self.k.by_node(W).unbind(1)
        one = torch.ones_like(self.m)[:, None]
        m_k = by_beta + self.prior_mean.by_node(one)[:, 0]
        v_k = by_A_k + self.prior_variance.by_node(one)[:, 0]
        return Nodes(self.m, self.v, m_k, v_k)


def products(B: Float[Tensor, "q r d"], s: Float[Tensor, " r"], *, full: bool) -> Float[Tensor, "q q d *d"]:
    """sum_r s_r B_qrk B_prl, or its diagonal, as matrix products."""
    q, r, d = B.shape
    scaled = s[:, None] * B
    if not full:
        return (B.permute(2, 0, 1) @ scaled.permute(2, 1, 0)).permute(1, 2, 0)
    flat = B.transpose(1, 2).reshape(q * d, r) @ scaled.transpose(0, 1).reshape(r, q * d)
    return flat.view(q, d, q, d).transpose(1, 2)
