"""Objectives of Monte Carlo acquisition functions that are affine in the outcomes: y = sum_i w_i f_i + b."""

from typing import Any, NamedTuple, final

import torch
from botorch.acquisition.objective import IdentityMCObjective, LinearMCObjective, MCAcquisitionObjective
from jaxtyping import Float
from torch import Tensor


@final
class AffineObjective(MCAcquisitionObjective):
    """BoTorch's LinearMCObjective with an offset."""

    def __init__(self, weights: Float[Tensor, " o"], offset: float) -> None:
        super().__init__()
        self.register_buffer("weights", weights)
        self.offset = offset

    def forward(self, samples: Tensor, X: Tensor | None = None) -> Tensor:
        weights: Any = self.weights
        return samples @ weights.to(samples) + self.offset


class WeightedSum(NamedTuple):
    """The weights w and the offset b of y = sum_i w_i f_i + b."""

    weights: Float[Tensor, " o"]
    offset: float = 0.0


def affine_part(objective: Any, outputs: int) -> WeightedSum | None:
    """w and b of an objective of a class that is known to be affine; None for any other."""
    if type(objective) is IdentityMCObjective and outputs == 1:
        return WeightedSum(torch.ones(1, dtype=torch.float64))
    if type(objective) in (LinearMCObjective, AffineObjective):
        weights = torch.as_tensor(objective.weights).detach().cpu().double()
        return WeightedSum(weights, float(getattr(objective, "offset", 0.0)))
    return None
