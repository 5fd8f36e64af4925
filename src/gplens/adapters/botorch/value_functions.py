"""Acquisition functions that are known by their values: each is the mean of a process without variance (MATH 11.9)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from botorch.models.transforms.input import Round
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.botorch.acquisition_values import evaluate, model_of, numbers_of
from gplens.adapters.botorch.sample_kinks import kinks_of_samples
from gplens.adapters.gpytorch.modules import reference
from gplens.adapters.reading import Reading, check_unchanged, compare_numbers
from gplens.expectations.acquisition import Opaque
from gplens.likelihood import Likelihood
from gplens.processes.category_blocks import category_blocks
from gplens.processes.crossings import Levels
from gplens.processes.cut import Cut
from gplens.processes.functions import Functions
from gplens.processes.process import Marginals, Process
from gplens.processes.transformed import AffineMap, Transformed

FROZEN = "gradients by autograd through the acquisition function itself, with its samples as they are"
STEP = 1e-5
"""Of the standard deviation of the points, to both sides of a point at which slopes are compared."""
SLOPE = 0.1
"""The difference of two slopes, relative to the larger, that neither curvature nor float64 makes with this step."""
ROUNDING = {torch.float64: 1e-8, torch.float32: 1e-3}
"""Largest error of a value, relative to the largest value: of a logarithm of samples by a Cholesky factor."""
CHECKED = 8
"""The most points at which slopes are compared. Some may be at kinks, so that all have to differ for a refusal."""


def read_values(acquisition: Any, x: Float[Tensor, "k d"], latent: Process | None, why: str) -> Reading:
    """The values of an acquisition function, along paths that switch the categories of its model.

    Args:
        acquisition: a differentiable function of candidates.
        x: some candidates.
        latent: its model, which says what columns are categories or rounded; None if it could not be read.
        why: the reason for which it is not read as a function of the posterior.
    """
    name, before = type(acquisition).__name__, numbers_of(acquisition)
    rounded = () if latent is None else latent.rounded

    def value(x: Float[Tensor, "k d"]) -> Float[Tensor, " k"]:
        with _straight_through(acquisition, rounded):
            return evaluate(acquisition, x)

    functions = Functions(value, features=x.shape[1])
    blocks = () if latent is None else category_blocks(latent)

    def compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        check_unchanged(name, before, numbers_of(acquisition))
        if not bool(at.m.isfinite().all()):
            raise ValueError(
                f"expected finite values of {name} at inputs, baselines and half-way points, got {at.m.min():g}; "
                "choose another baseline."
            )
        if rounded:
            _check_rounding(acquisition, points, at.m[:, 0, 0], rounded)
        _check_slopes(acquisition, functions, points, blocks, why)
        return (f"{FROZEN}: {why}",)

    with _straight_through(acquisition, rounded):
        levels = kinks_of_samples(acquisition, x)
    process: Process = Cut.graded(functions)
    if levels is not None:
        process = Cut.at_levels(process, _within(levels, acquisition, rounded), 0)
    if blocks or rounded:
        process = Transformed.through(process, _columns(x.shape[1], blocks, rounded))
    model = type(model_of(acquisition)).__name__
    return Reading(process, model, Likelihood(name, Opaque(name)), compare=compare, acquisition=name, remark=FROZEN)


def _columns(features: int, blocks: tuple[tuple[int, ...], ...], rounded: tuple[int, ...]) -> AffineMap:
    """All columns as they are, those of categories without a derivative."""
    W = torch.eye(features, dtype=torch.float64)
    W[[column for block in blocks for column in block]] = 0.0
    return AffineMap(W, lambda x: x, blocks, rounded)


def _within(levels: Levels, acquisition: Any, rounded: tuple[int, ...]) -> Levels:
    """The same levels of inputs that are not rounded."""

    def functions(x: Float[Tensor, "k d"]) -> Float[Tensor, "k r"]:
        with _straight_through(acquisition, rounded):
            return levels.functions(x)

    return Levels(functions, levels.thresholds) if rounded else levels


@contextmanager
def _straight_through(acquisition: Any, rounded: tuple[int, ...]) -> Iterator[None]:
    """The acquisition function of numbers that its model does not round, which are the same at whole numbers."""
    parts: Any = [part for part in acquisition.modules() if isinstance(part, Round)] if rounded else []
    columns = [part.integer_indices for part in parts]
    try:
        for part in parts:
            part.integer_indices = part.integer_indices[:0]
        yield
    finally:
        for part, indices in zip(parts, columns, strict=True):
            part.integer_indices = indices


def _check_rounding(
    acquisition: Any, points: Float[Tensor, "k d"], values: Float[Tensor, " k"], rounded: tuple[int, ...]
) -> None:
    """Refuse values that are not those of the acquisition function with its model as it is."""
    with torch.no_grad():
        host = evaluate(acquisition, points)
    limit = ROUNDING[reference(acquisition).dtype] * (1 + host.abs().max())
    hint = f"Columns {list(rounded)} are rounded by the model: give it whole numbers, and the baseline."
    compare_numbers("value", values, host, limit, hint)


def _check_slopes(
    acquisition: Any, functions: Functions, points: Float[Tensor, "k d"], blocks: tuple[tuple[int, ...], ...], why: str
) -> None:
    """Refuse a function whose gradient is nowhere that of its values: one that rounds, or draws anew in each call."""
    some = points[torch.linspace(0, len(points) - 1, min(len(points), CHECKED)).long().unique()]
    h = STEP * points.std(0, correction=0)
    h[[column for block in blocks for column in block]] = 0.0
    x = some.clone().requires_grad_()
    with torch.enable_grad():
        values = functions.mean(x)
        by_autograd = torch.autograd.grad(values.sum(), x)[0] @ h
    with torch.no_grad():
        by_difference = (functions.mean(some + h) - functions.mean(some - h)) / 2
    rounding = ROUNDING[reference(acquisition).dtype] * values.detach().abs().max()
    larger = torch.maximum(by_autograd.abs(), by_difference.abs())
    steep = larger > rounding / SLOPE  # elsewhere the two cannot be told apart
    if int(steep.sum()) > 1 and bool(((by_autograd - by_difference).abs() > SLOPE * larger)[steep].all()):
        i, name = int(larger.argmax()), type(acquisition).__name__
        raise ValueError(
            f"expected gradients of {name} that belong to its values, got the change {float(by_autograd[i]):.3g} by "
            f"autograd along a small step, and {float(by_difference[i]):.3g} of its values; choose an acquisition "
            f"function that neither rounds its inputs nor draws other samples in every call. It is known by its "
            f"values because {why}"
        )
