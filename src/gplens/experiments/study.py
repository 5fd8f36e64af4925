"""One image of a classifier: explained, with intervals, and ablated."""

from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.experiments.ablation import Ablation
from gplens.experiments.image_models import on_pixels
from gplens.explain import explain
from gplens.links import Softmax
from gplens.plots.removal import even_counts, order_of
from gplens.processes.process import Process
from gplens.uncertainty import Samples

LEVEL = 0.9
EXACT = 1e-9
"""The tolerance of attributions of the images shown, on whose sum their curves end."""
ROUGH = 3e-2
"""The tolerance of intervals, relative to the largest deviation: below the scatter of their draws."""


@final
@dataclass(frozen=True)
class Size:
    """How much an experiment computes."""

    images: int = 10
    """Images shown: the first of each class."""
    orders: int = 1000
    """Random orders of each image shown."""
    draws: int = 1000
    """Draws behind the intervals of each image shown."""
    steps: int = 16
    """The number of counts of replaced pixels at which random curves and metrics are evaluated."""
    scored: int = 200
    """Images of the metrics: the first of the test set."""
    scored_orders: int = 50
    """Random orders of each image of the metrics."""


@final
@dataclass(frozen=True, eq=False)
class ImageStudy:
    """One image, explained and ablated. Curves are E S_c(x) - E S_c(replaced), as in the paper."""

    row: int
    label: int
    probability: float
    baseline_probability: float
    values: Float[Tensor, " d"]
    low: Float[Tensor, " d"]
    high: Float[Tensor, " d"]
    nodes: int
    ordered: Float[Tensor, " s"]
    """After 0, 1, ..., all pixels that differ from the baseline, in the order of their attributions."""
    counts: Int[Tensor, " r"]
    random: Float[Tensor, " r"]
    """After `counts` pixels, averaged over random orders."""

    @property
    def sign_change(self) -> int:
        """The number of pixels with a positive attribution."""
        return int((self.values > 0).sum())

    @property
    def miss(self) -> float:
        """The end of the ordered curve minus the sum of the attributions."""
        return float(self.ordered[-1] - self.values.sum())


def study(
    process: Process, x: Float[Tensor, " d"], row: int, label: int, size: Size, seed: int, dtype: torch.dtype
) -> ImageStudy:
    """Explain the pixels that differ from black, with intervals; replace them in order, and at random."""
    x0, free = torch.zeros_like(x), x != 0
    restricted = on_pixels(process, x0, free)
    explain_pixels = partial(explain, restricted, x[None, free], baseline=0.0, likelihood=Softmax(), outputs=[label])
    e, samples = explain_pixels(tolerance=EXACT), Samples(size.draws, seed=seed, joint=False)
    low, high = explain_pixels(tolerance=ROUGH, uncertainty=samples).interval(LEVEL)
    ablation, rough = (Ablation.of(process, x, x0, label, dtype=kind) for kind in (torch.float64, dtype))
    removed = ablation.removed(order_of(e.values[0, 0]), torch.arange(ablation.pixels + 1))
    counts = even_counts(ablation.pixels, size.steps)
    at_random = rough.removed_at_random(size.orders, counts, seed)
    return ImageStudy(
        row=row,
        label=label,
        probability=float(e.prediction),
        baseline_probability=float(e.baseline_prediction),
        values=_embedded(e.values, free),
        low=_embedded(low, free),
        high=_embedded(high, free),
        nodes=int(e.nodes),
        ordered=removed[0] - removed,
        counts=counts,
        random=removed[0] - at_random,
    )


def _embedded(values: Float[Tensor, "1 1 p"], free: Tensor) -> Float[Tensor, " d"]:
    """Values at the free pixels, zero at all others."""
    image = torch.zeros(len(free), dtype=values.dtype)
    image[free] = values[0, 0]
    return image


def first_of_each(labels: Int[Tensor, " b"], count: int) -> list[int]:
    """The rows of the first image of each class, for so many classes."""
    return [int((labels == label).nonzero()[0]) for label in labels.unique().tolist()[:count]]
