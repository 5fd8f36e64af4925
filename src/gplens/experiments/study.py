"""One image of a classifier: explained, with intervals, and ablated."""

from dataclasses import dataclass
from functools import partial
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

import gplens
from gplens.adapters.reading import read as read_model
from gplens.estimators import GPClassifier
from gplens.experiments.ablation import Ablation, even_counts
from gplens.experiments.metrics import order_of
from gplens.experiments.pixels import on_pixels
from gplens.processes.process import Process

LEVEL = 0.9
EXACT = 1e-9
"""Tolerance of the attributions of the images shown, whose curves end on their sum."""
ROUGH = 3e-2
"""Tolerance of the intervals, relative to the largest deviation: below the scatter of their draws."""


@final
@dataclass(frozen=True)
class Size:
    """How much is computed."""

    images: int = 10
    """Shown: the first of each class."""
    orders: int = 1000
    """Random orders of each of them."""
    draws: int = 1000
    """Behind their intervals."""
    steps: int = 16
    """Counts of replaced pixels at which random curves and metrics are evaluated."""
    scored: int = 200
    """Images of the metrics: the first of the test set."""
    scored_orders: int = 50
    """Random orders of each of them."""


@final
@dataclass(frozen=True, eq=False)
class Shown:
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
    """After 0, 1, ..., all pixels that differ from the baseline."""
    counts: Int[Tensor, " r"]
    random: Float[Tensor, " r"]
    """After so many of them, averaged over the random orders."""

    @property
    def sign_change(self) -> int:
        """Pixels with a positive attribution."""
        return int((self.values > 0).sum())

    @property
    def miss(self) -> float:
        """End of the curve less the sum of attributions."""
        return float(self.ordered[-1] - self.values.sum())


def show(
    process: Process, x: Float[Tensor, " d"], row: int, label: int, size: Size, seed: int, dtype: torch.dtype
) -> Shown:
    """Explain the pixels that differ from black, with intervals; replace them in order, and at random."""
    x0, free = torch.zeros_like(x), x != 0
    own = on_pixels(process, x0, free)
    explain = partial(
        gplens.explain, own, x[None, free], baseline=0.0, likelihood=gplens.links.Softmax(), outputs=[label]
    )
    e, samples = explain(tolerance=EXACT), gplens.Samples(size.draws, seed=seed, joint=False)
    low, high = explain(tolerance=ROUGH, uncertainty=samples).interval(LEVEL)
    ablation, rough = (Ablation.of(process, x, x0, label, dtype=kind) for kind in (torch.float64, dtype))
    removed = ablation.removed(order_of(e.values[0, 0]), torch.arange(ablation.pixels + 1))
    counts = even_counts(ablation.pixels, size.steps)
    at_random = rough.removed_at_random(size.orders, counts, seed)
    return Shown(
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
    """At their pixels, zero elsewhere."""
    out = torch.zeros(len(free), dtype=values.dtype)
    out[free] = values[0, 0]
    return out


def first_of_each(labels: Int[Tensor, " b"], count: int) -> list[int]:
    """Rows of the first image of each class, for so many classes."""
    return [int((labels == label).nonzero()[0]) for label in labels.unique().tolist()[:count]]


def read(model: GPClassifier, X: Float[Tensor, "b d"]) -> Process:
    """The fitted model as gplens sees it, checked against GPyTorch at these images."""
    points = torch.cat([X, torch.zeros_like(X[:1])])
    reading = read_model(model, points=points)
    reading.compare(points)
    return reading.process
