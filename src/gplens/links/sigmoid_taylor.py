"""The paper's second-order Taylor expansion of the sigmoid, kept for comparison."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.links.link import Link, Moments, PairMoments
from gplens.links.sigmoid import Sigmoid, sigmoid_at
from gplens.shapes import Batch


@final
@dataclass(frozen=True)
class SigmoidTaylor(Link):
    """slope ~ s'(m) + v/2 s'''(m),  curvature ~ s''(m)  (2.8), so that the gradient is the paper's

        psi_m m_k + psi_v v_k = s' m_k + v/2 s''' m_k + c_k s'',    psi_v = s''/2,  c_k = v_k/2.

    `value` is the exact E s(f): the completeness gap is what the expansion costs. Its error is O(v^2) in
    the slope, O(v) in the curvature, without bound as v grows. Use `Sigmoid` for anything but comparison.
    """

    @property
    def exact(self) -> bool:
        """False: slope and curvature are not the derivatives of `value`."""
        return False

    def __call__(self, f: Batch) -> Batch:
        """g = 1/(1 + e^-f)."""
        return torch.sigmoid(f)

    def moments(self, m: Batch, v: Batch) -> Moments:
        """E s(f) exactly;  s' + v/2 s''' and s'' at m  (2.8)."""
        value = Sigmoid().moments(m, v).value
        _, slope, curvature = sigmoid_at(m)
        third = slope * (1 - 6 * slope)  # s''' = s'(1 - 6 s')
        return Moments(value, slope + v / 2 * third, curvature)  # (2.8)

    def derivative(self, f: Batch) -> Batch:
        """s' = s(1 - s)."""
        return sigmoid_at(f).slope

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """Refused: the expansion approximates attributions, and gives them no distribution."""
        raise NotImplementedError(
            "SigmoidTaylor has no pair moments: it approximates the expected attribution, not its distribution. "
            "Use links.Sigmoid(), which is exact, or leave uncertainty out."
        )
