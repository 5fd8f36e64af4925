"""Attributions of class probabilities by gplens, gradient x input and Captum, and their metrics on many images."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import pandas
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.estimators import GPClassifier
from gplens.experiments.ablation import Ablation, score
from gplens.experiments.run import Messages
from gplens.experiments.study import Size
from gplens.explain import explain
from gplens.links import Softmax
from gplens.plots.removal import even_counts
from gplens.processes.process import Process
from gplens.rules import RiemannRight, Rule

DRAWS = 256
"""Draws of the latent values behind a probability, for Captum: autograd has no expected softmax."""
POINTS = 512
"""Points of paths that Captum takes at once."""

Images = Float[Tensor, "b d"]
Labels = Int[Tensor, " b"]


def check_captum() -> None:
    """Raise ImportError if Captum is missing; called before the work, not after it."""
    if find_spec("captum") is None:
        raise ImportError(
            "expected captum to be installed for the comparison, got no such module. Install gplens with the extra "
            "[captum]."
        )


def integrated_gradients(process: Process, X: Images, labels: Labels, rule: Rule | None = None) -> Images:
    """Of the expected probability of each image's label, relative to black; exact to the default tolerance."""
    values = torch.zeros_like(X)
    for label in labels.unique().tolist():
        rows = labels == label
        explanation = explain(process, X[rows], baseline=0.0, likelihood=Softmax(), outputs=[label], rule=rule)
        values[rows] = explanation.values[:, 0]
    return values


def gradient_times_input(process: Process, X: Images, labels: Labels) -> Images:
    """x_k d_k T(x): the Riemann sum with the single node t = 1, for a baseline of zero."""
    return integrated_gradients(process, X, labels, RiemannRight(1))


def captum(model: GPClassifier, X: Images, labels: Labels, seed: int) -> Images:
    """Captum's IntegratedGradients with its defaults, 50 steps of autograd through GPyTorch, softmax over draws."""
    from captum.attr import IntegratedGradients

    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(DRAWS, 1, len(model.classes_), generator=generator, dtype=X.dtype)
    host: Any = model.model_

    def probabilities(x: Tensor) -> Tensor:
        f = host(x)
        return torch.softmax(f.mean + f.variance.sqrt() * z, dim=-1).mean(0)

    attributions: Any = IntegratedGradients(probabilities).attribute(
        X, torch.zeros_like(X), target=labels, internal_batch_size=POINTS
    )
    return attributions.detach()


def measure(
    model: GPClassifier, X: Images, labels: Labels, size: Size, seed: int, dtype: torch.dtype, messages: Messages
) -> pandas.DataFrame:
    """A row for each image and method: metrics, completeness gap, seconds."""
    process = model.posterior_
    methods: dict[str, Callable[[], Images]] = {
        "gplens": lambda: integrated_gradients(process, X, labels),
        "gradient x input": lambda: gradient_times_input(process, X, labels),
        "Captum IG": lambda: captum(model, X, labels, seed),
    }
    values, seconds = {}, {}
    for name, method in methods.items():
        began = perf_counter()
        values[name] = method()
        seconds[name] = (perf_counter() - began) / len(X)
    rows = []
    for i in messages.each(range(len(X)), "images scored"):
        label, image_values = int(labels[i]), {name: each[i] for name, each in values.items()}
        for row in _scores(process, X[i], label, image_values, size, seed + i, dtype):
            rows.append({"image": i, "label": label, **row, "seconds": seconds[row["method"]]})
    return pandas.DataFrame(rows)


def _scores(
    process: Process,
    x: Float[Tensor, " d"],
    label: int,
    values: Mapping[str, Float[Tensor, " d"]],
    size: Size,
    seed: int,
    dtype: torch.dtype,
) -> Iterator[dict[str, Any]]:
    """The methods on one image. The change that attributions should sum to is in float64 for any `dtype`."""
    x0 = torch.zeros_like(x)
    exact, ablation = (Ablation.of(process, x, x0, label, dtype=kind) for kind in (torch.float64, dtype))
    before, after = exact.removed(torch.arange(exact.pixels), torch.tensor([0, exact.pixels]))
    counts = even_counts(ablation.pixels, size.steps)
    at_random = ablation.removed_at_random(size.scored_orders, counts, seed)
    for method, attributions in values.items():
        gap = abs(float(attributions.sum() - (before - after)))
        yield {"method": method, **asdict(score(ablation, attributions[x != x0], at_random, counts)), "gap": gap}
