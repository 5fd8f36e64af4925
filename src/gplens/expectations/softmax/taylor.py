"""The second-order Taylor expansion of E softmax(f) in f around m (Seitz, appendix C.5), a named
approximation.

With S = softmax(m), f_j ~ N(m_j, v_j) independent and G the Jacobian of the softmax, G_cj = S_c (delta_cj -
S_j):

    d^2 S_c/dm_j^2 = G_cj (1 - 2 S_j)                                                       (3.9)
    E S_c ~ T_c    = S_c + 1/2 sum_j v_j G_cj (1 - 2 S_j)                                   (3.10)

    dT_c/dv_j      = 1/2 G_cj (1 - 2 S_j)                                                   (3.11)
    dT_c/dm_k      = G_ck + 1/2 (alpha_c G_ck - S_c S_k alpha_k) - (G diag(v) G)_ck         (3.12)
    alpha_j        = v_j (1 - 2 S_j) - sum_i v_i S_i (1 - 2 S_i)

(3.11), (3.12) are also what the paper's expansion of E[grad] gives, once the factor 2 that (nablahcfun) loses
is put back: E[G_cj(f) d_k f_j] ~ dT_c/dm_j d_k m_j + dT_c/dv_j d_k v_j. Biased: the error grows with v and is
of order one for v of some units. `softmax_moments` is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import one_hot

from gplens.expectations.softmax.arguments import Argument, check_marginals, check_weights
from gplens.expectations.softmax.integral import softmax_moments


@final
@dataclass(frozen=True)
class Taylor:
    """E softmax(f), exact in `value`; derivatives and `expansion` by the Taylor polynomial (3.10)."""

    value: Float[Tensor, "e c"]
    S: Float[Tensor, "e 1 c"]
    v: Float[Tensor, "e 1 c"]

    @property
    def expansion(self) -> Float[Tensor, "e c"]:
        """T of (3.10). Its entries sum to one, but may leave [0, 1]."""
        S, v = self.S, self.v
        return (S + 0.5 * self.flow(v * (1 - 2 * S))).squeeze(1)  # (3.10), G is symmetric

    def pull_back(self, a: Argument) -> tuple[Float[Tensor, "e p c"], Float[Tensor, "e p c"]]:
        """sum_c a_pc dT_c/dm_j (3.12) and sum_c a_pc dT_c/dv_j (3.11), in O(p C)."""
        check_weights(a, self.value)
        S, v = self.S, self.v
        slope = v * (1 - 2 * S)
        alpha = slope - (slope * S).sum(-1, keepdim=True)
        aG = self.flow(a)
        mean = (a * S).sum(-1, keepdim=True)
        third = 0.5 * (self.flow(a * alpha) - mean * S * alpha) - self.flow(aG * v)
        return aG + third, 0.5 * (1 - 2 * S) * aG  # (3.12), (3.11)

    def derivatives(self, outputs: Sequence[int]) -> tuple[Float[Tensor, "e o c"], Float[Tensor, "e o c"]]:
        """dT_c/dm_j and dT_c/dv_j of some classes c, at [element, c, j]."""
        chosen = one_hot(torch.as_tensor(outputs), self.value.shape[1]).to(self.value)
        return self.pull_back(chosen.expand(len(self.value), -1, -1))

    def flow(self, x: Float[Tensor, "e p c"]) -> Float[Tensor, "e p c"]:
        """(x G)_k = S_k (x_k - sum_j x_j S_j)."""
        return self.S * (x - (x * self.S).sum(-1, keepdim=True))

    def jacobian(self) -> tuple[Float[Tensor, "e c c"], Float[Tensor, "e c c"]]:
        """dT_c/dm_j and dT_c/dv_j at [element, c, j]."""
        return self.derivatives(range(self.value.shape[1]))


def taylor(m: Argument, v: Argument, *, tolerance: float = 1e-9) -> Taylor:
    """The exact expectation with the derivatives of its second-order Taylor expansion in f."""
    check_marginals(m, v)
    return Taylor(softmax_moments(m, v, tolerance=tolerance).value, torch.softmax(m, 1)[:, None], v[:, None])
