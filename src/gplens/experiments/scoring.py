"""Metrics of many images, for each method of attribution."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from time import perf_counter

import pandas
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators import GPClassifier
from gplens.experiments import rivals
from gplens.experiments.ablation import Ablation, even_counts
from gplens.experiments.metrics import score
from gplens.experiments.progress import Progress
from gplens.experiments.rivals import Images, Labels
from gplens.experiments.study import Size, read
from gplens.processes.process import Process


def measure(
    model: GPClassifier, X: Images, labels: Labels, size: Size, seed: int, dtype: torch.dtype, progress: Progress
) -> pandas.DataFrame:
    """A row for each image and method: its metrics, what the attributions miss, how long they took."""
    process = read(model, X[:16])
    methods: dict[str, Callable[[], Images]] = {
        "gplens": lambda: rivals.integrated_gradients(process, X, labels),
        "gradient x input": lambda: rivals.gradient_times_input(process, X, labels),
        "Captum IG": lambda: rivals.captum(model, X, labels, seed),
    }
    values, seconds = {}, {}
    for name, method in methods.items():
        start = perf_counter()
        values[name] = method()
        seconds[name] = (perf_counter() - start) / len(X)
    rows = [
        {"image": i, "label": int(labels[i]), **row, "seconds": seconds[row["method"]]}
        for i in progress.each(range(len(X)), "images scored")
        for row in _rows(
            process, X[i], int(labels[i]), {name: own[i] for name, own in values.items()}, size, seed + i, dtype
        )
    ]
    return pandas.DataFrame(rows)


def _rows(
    process: Process,
    x: Float[Tensor, " d"],
    label: int,
    values: Mapping[str, Float[Tensor, " d"]],
    size: Size,
    seed: int,
    dtype: torch.dtype,
) -> Iterator[dict[str, object]]:
    """One image; the change that attributions should add up to is computed in float64 whatever the curves are."""
    x0 = torch.zeros_like(x)
    exact, ablation = (Ablation.of(process, x, x0, label, dtype=kind) for kind in (torch.float64, dtype))
    before, after = exact.removed(torch.arange(exact.pixels), torch.tensor([0, exact.pixels]))
    counts = even_counts(ablation.pixels, size.steps)
    at_random = ablation.removed_at_random(size.scored_orders, counts, seed)
    for method, own in values.items():
        gap = abs(float(own.sum() - (before - after)))
        yield {"method": method, **asdict(score(ablation, own[x != x0], at_random, counts)), "gap": gap}
