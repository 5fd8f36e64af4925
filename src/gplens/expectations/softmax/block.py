"""One block of the softmax integrals: elements that share their nodes, and the contractions over the nodes.

With P = prod_j L_j, l_j = L_j'/L_j, q_j = L_j''/L_j and nodes s_k, weights w_k:

    E S_c         =      sum_k w_k P_k l_ck                    (3.2)
    d E S_c/dm_j  =    - sum_k w_k P_k l_ck l_jk               (3.3)   c != j
    d E S_c/dv_j  =  1/2 sum_k w_k P_k l_ck q_jk               (3.4)   c != j

so all classes share one set of nodes, and the derivatives of some classes c are matrix products over the nodes. Those
with j = c follow from the others, since derivatives sum to zero over c: with T_k = sum_j l_jk

    d E S_c/dm_c  =  sum_k w_k P_k l_ck (T_k - l_ck)                                              (3.8)

and likewise for v, so that for few classes nothing of size C x C is formed.
"""

from dataclasses import dataclass
from math import pi
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.expectations.softmax.cdf import cdf
from gplens.expectations.softmax.plan import Plan

VANISHED = 1e-290
"""A node where some L_j is smaller has P < 1e-290; L_j' and L_j'' vanish as fast, and it carries nothing."""

INNER = 1 / 300
"""Share of the tolerance for (3.1). Its errors are ripples in s that the coarse steps of a long tail sum up;
P multiplies C of them, but they shrink like 1 - L_j. Recipe: scripts/softmax_constants.py stress:
with 1/10 some elements take more than three attempts, from 1/100 on none does and nothing changes."""

Jacobian = Float[Tensor, "e c c"]


@final
@dataclass(frozen=True)
class Block:
    """Elements on one grid: ratios l = L'/L, q = L''/L and node weights w P, with the measured defect."""

    rows: Int[Tensor, " e"]
    l: Float[Tensor, "e c s"]  # noqa: E741
    q: Float[Tensor, "e c s"]
    wp: Float[Tensor, "e 1 s"]
    value: Float[Tensor, "e c"]
    defect: Float[Tensor, " e"]

    def select(self, index: Bool[Tensor, " e"]) -> "Block":
        """Some of the elements."""
        if bool(index.all()):
            return self
        return Block(*(x[index] for x in (self.rows, self.l, self.q, self.wp, self.value, self.defect)))

    def derivatives(self, outputs: Int[Tensor, " o"]) -> tuple[Float[Tensor, "e o c"], Float[Tensor, "e o c"]]:
        """(3.3), (3.4) for some of the classes c, entry [c, j]; j = c by (3.8)."""
        weighted, T = self.l[:, outputs] * self.wp, self.l.sum(1, keepdim=True) * self.wp
        by_m, by_v = weighted @ self.l.mT, weighted @ self.q.mT
        at = torch.arange(len(outputs))
        by_m[:, at, outputs] -= (T @ self.l.mT)[:, 0, outputs]
        by_v[:, at, outputs] -= (T @ self.q.mT)[:, 0, outputs]
        return by_m.neg_(), by_v.mul_(0.5)


def evaluate(part: Plan, tolerance: float) -> Block:
    """(3.2) of the elements of a block and their defects."""
    h, s, w = part.grid()
    triples = cdf(s, part.m.reshape(-1), part.v.reshape(-1), INNER * tolerance)
    L, D, Q = triples.view(*part.m.shape, 3, -1).unbind(2)
    wp = w * L.prod(1, keepdim=True)
    inverse = torch.where(L > VANISHED, 1 / L, 0)
    l, q = D * inverse, Q * inverse  # noqa: E741
    value = (l * wp).sum(2)
    total = value.sum(1, keepdim=True)
    return Block(part.rows, l, q, wp, value / total, defect(l, q, wp, total, h))


def defect(l: Tensor, q: Tensor, wp: Tensor, total: Tensor, h: float) -> Float[Tensor, " e"]:  # noqa: E741
    """The deviations of the integrals of P' and (l_j P)' from 1 and 0: the error of step and range in (3.2) and (3.3).

    (3.4) has one derivative more, which the aliasing frequency 2 pi/h turns into a factor pi/h. Beyond 12
    (h < 0.26) no aliasing is left at any tolerance, and the factor would only blow up rounding.
    """
    closure = ((l * (l.sum(1, keepdim=True) - l) + q) * wp).sum(2).abs().amax(1)
    return torch.maximum((total - 1).abs().squeeze(1), min(max(1.0, pi / h), 12.0) * closure)
