"""Rules whose nodes contain those of lower rules: Gauss-Kronrod and Patterson (MATH 4.7, 4.9)."""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from numpy.polynomial import legendre
from torch import Tensor

from gplens.paths.panels import Nodes, interpolatory_weights, stieltjes_zeros

KRONROD = (9, 11)
"""The Gauss and Kronrod rules, by their numbers of nodes. Rules of 15, 31 and 63 nodes are Patterson's."""
INTERPOLATING = 31
"""The most nodes from which functions are interpolated: the Lebesgue constant is 8.5 here, and 5,800 for 63 nodes."""
LAST_TERMS = 4
"""The number of last terms of a Legendre series, the largest of which estimates its truncation error (4.9b, 4.10)."""
KINKS = 0.5
"""The part of this estimate that is taken as the error of a sum over a kink. Recipe: scripts/kronrod_gain.py"""


@final
@dataclass(frozen=True, eq=False)
class NestedRule:
    """A rule on [0, 1] with lower rules on its first nodes, and the weights of the sums that estimate its error."""

    t: Float[Tensor, " q"]
    """The nodes, those of the lowest rule first."""
    channels: Float[Tensor, "l q"]
    """The weights of the rule, then the differences between each rule and the next lower one."""
    moments: Float[Tensor, "l q q"]
    """The weights for  int psi P_j dt  in place of psi at the nodes; the other factor is interpolated  (4.10)."""
    series: Float[Tensor, "q q"]
    """From values at the nodes to the coefficients of their Legendre series."""

    @staticmethod
    def of(nodes: Nodes, sizes: tuple[int, ...]) -> "NestedRule":
        """From nodes on [-1, 1], and the numbers of nodes of the rule and of its lower rules, the largest first."""
        weights, series = [], []
        for size in sizes:
            rest = len(nodes) - size
            weights.append(np.pad(interpolatory_weights(nodes[:size]) / 2, (0, rest)))
            series.append(np.pad(np.linalg.inv(legendre.legvander(nodes[:size], size - 1)), (0, rest)))
        return NestedRule(
            torch.as_tensor((nodes + 1) / 2), _differences(weights), _differences(series), torch.as_tensor(series[0])
        )

    def for_smooth(self) -> "NestedRule":
        """For an analytic integrand, whose error two rules suffice to estimate (4.9a)."""
        return NestedRule(self.t, self.channels[:2], self.moments[:2], self.series)

    def for_kinks(self) -> "NestedRule":
        """For an integrand with kinks, on which two rules may agree by chance.

        The last coefficients of its Legendre series are a second estimate of the error (4.9b).
        """
        last = self.series[-LAST_TERMS:]
        terms = torch.zeros(LAST_TERMS, *self.series.shape, dtype=last.dtype)
        for i in range(LAST_TERMS):
            terms[i, i - LAST_TERMS] = last[i]
        channels = torch.cat([self.channels[:2], KINKS * last])
        return NestedRule(self.t, channels, torch.cat([self.moments[:2], terms]), self.series)


def _differences(rules: list[Nodes]) -> Tensor:
    pairs = pairwise(rules)
    return torch.as_tensor(np.stack([rules[0], *(higher - lower for higher, lower in pairs)]))


@cache
def nested_rule(count: int, *, kinked: bool = False, smooth: bool = False) -> NestedRule:
    """The rule of 9 or 11 nodes with Gauss's rule inside, or of 15, 31 or 63 nodes with two of Patterson's inside."""
    if kinked:
        return nested_rule(count).for_kinks()
    if smooth:
        return nested_rule(count).for_smooth()
    if count in KRONROD:
        gauss = legendre.leggauss((count - 1) // 2)[0]
        return NestedRule.of(np.concatenate([gauss, stieltjes_zeros(gauss)]), (count, len(gauss)))
    nodes, sizes = legendre.leggauss(3)[0], [3]
    while len(nodes) < count:
        nodes = np.concatenate([nodes, stieltjes_zeros(nodes)])
        sizes.append(len(nodes))
    if len(nodes) != count:
        raise ValueError(f"expected 9, 11, 15, 31 or 63 nodes, got {count}.")
    return NestedRule.of(nodes, tuple(sizes[:-4:-1]))
