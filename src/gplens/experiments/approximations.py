"""The paper's approximations that are not in gplens.links."""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link, Moments, PairMoments
from gplens.expectations.softmax.classes import ClassProbabilities, Derivatives
from gplens.expectations.softmax.taylor import Taylor
from gplens.lines.shapes import Batch
from gplens.links.sigmoid import Sigmoid, sigmoid_at


@final
@dataclass(frozen=True)
class SigmoidHermite(Link):
    """E s' and E s'' by `count` Gauss-Hermite nodes, 20 as in GPyTorch; the value E s exactly.

    The error is 1e-7 at a standard deviation of 1 and 1e-4 at 2. Use `links.Sigmoid` for anything but comparison.
    """

    count: int = 20

    exact = False
    """False: slope and curvature are not the derivatives of `value`."""

    def __call__(self, f: Batch) -> Batch:
        return torch.sigmoid(f)

    def moments(self, m: Batch, v: Batch) -> Moments:
        """sum_i w_i g(m + sd z_i) for g = s' and s''."""
        z, w = (torch.as_tensor(part).to(m) for part in np.polynomial.hermite_e.hermegauss(self.count))
        _, slope, curvature = sigmoid_at(m[..., None] + v.sqrt()[..., None] * z)
        w = w / w.sum()
        return Moments(Sigmoid().moments(m, v).value, slope @ w, curvature @ w)

    def derivative(self, f: Batch) -> Batch:
        return sigmoid_at(f).slope

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """Not available: an approximation of attributions gives them no distribution."""
        raise NotImplementedError("expected an exact link for error bars, got SigmoidHermite; use links.Sigmoid().")


@final
@dataclass(frozen=True)
class SoftmaxExpansion(ClassProbabilities):
    """The paper's Taylor polynomial (3.10) in place of E softmax, with its own derivatives (3.11), (3.12).

    The attributions are those of `links.SoftmaxTaylor`, without the exact probabilities that it adds at every node.
    """

    @property
    def accuracy(self) -> float:
        """Infinite: it is not the expectation."""
        return torch.inf

    def derivatives(self, m: Float[Tensor, "e c"], v: Float[Tensor, "e c"], outputs: tuple[int, ...]) -> Derivatives:
        S = torch.softmax(m, 1)
        polynomial = Taylor(S, S[:, None], v[:, None])
        return polynomial.expansion, *polynomial.derivatives(outputs)
