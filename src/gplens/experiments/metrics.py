"""How well an order of pixels does: areas between curves, deletion and insertion."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.experiments.ablation import Ablation


@final
@dataclass(frozen=True)
class Score:
    """Of one image and one attribution."""

    area: float
    """Between the ordered and the random curve of E S_c(x) - E S_c(replaced), over the fraction of pixels."""
    above: bool
    """Whether the ordered curve stays above the random one until the sign of the attributions changes."""
    deletion: float
    """Area under the probability while pixels are replaced, the most important first: lower is better."""
    insertion: float
    """Area under it while they come back, the most important first: higher is better."""


def order_of(values: Float[Tensor, " p"]) -> Int[Tensor, " p"]:
    """From the most positive attribution to the most negative; ties keep their order."""
    return values.argsort(descending=True, stable=True)


def score(
    ablation: Ablation, values: Float[Tensor, " p"], random: Float[Tensor, " s"], counts: Int[Tensor, " s"]
) -> Score:
    """Against the probabilities after random removal of so many pixels."""
    order = order_of(values)
    removed, inserted = ablation.removed(order, counts), ablation.inserted(order, counts)
    fraction = counts.double() / ablation.pixels
    lead = random - removed  # the differences to E S_c(x), whose order is the other way round
    before = (counts > 0) & (counts <= int((values > 0).sum()))
    deletion, insertion, area = (float(torch.trapezoid(curve, fraction)) for curve in (removed, inserted, lead))
    return Score(area, bool((lead[before] > 0).all()), deletion, insertion)
