"""The spread of attributions that are averages over a background: joint over its paths (MATH 5.20)."""

from collections.abc import Iterator
from dataclasses import replace
from math import isqrt

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.explanation.spread import Spread
from gplens.paths.adaptive import Adaptive
from gplens.paths.attribute import attribute
from gplens.paths.averaging import Background
from gplens.paths.integrand import Question
from gplens.processes.bundle import Bundle
from gplens.uncertainty.answers import of_every_draw, pooled
from gplens.uncertainty.requests import Samples, Uncertainty
from gplens.uncertainty.spreads import SpreadQuestion
from gplens.uncertainty.sums import NEXT_ROW

MOST_ROWS = 32
"""The most rows of a background: its cost is that of their pairs."""
NODES = 16
"""Nodes of a typical path."""
NUMBERS = 2**25
"""The most numbers in a covariance between the nodes of all paths and gradients there, 0.27 GB."""


def check_background(question: Question, request: Uncertainty, rows: int) -> None:
    """Refuse a background whose pairs of paths take too long or too much memory."""
    features = question.process.features
    held = features**2 if isinstance(request, Samples) and request.joint else features
    most = max(1, min(MOST_ROWS, isqrt(NUMBERS // held) // NODES))
    if rows > most:
        raise ValueError(
            f"expected a background of at most {most} rows for uncertainty= with {features} features, got {rows}: the "
            "error bars of an average need the covariances between all pairs of its paths. Pass fewer representative "
            f"rows, such as gplens.baselines.Sample(X[:{most}]), with weights= if they stand for many."
        )


def spread_over_background(
    question: Question,
    request: Uncertainty,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    values: Float[Tensor, "b o d"],
    background: Background,
) -> Spread:
    """The spread of the averages `values` over the paths from several baselines, input by input."""
    check_background(question, request, baselines.shape[1])
    draws = question.expectation.draws_of(question.outputs)
    if draws is None:
        return _joint(SpreadQuestion(question, request), x, baselines, values, background)
    every_draw = of_every_draw(question, request, draws)
    draw_values = attribute(every_draw.question, Adaptive(), x, baselines, background).integral.values
    spread = _joint(every_draw, x, baselines, draw_values, background)
    return pooled(spread, background.summed(draw_values), draws.counts, request)


def _joint(
    asked: SpreadQuestion,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    values: Float[Tensor, "b o d"],
    background: Background,
) -> Spread:
    parts = list(_rows(asked, x, baselines, background.summed(values), background))
    names = parts[0].tensors()
    return replace(parts[0], **{name: torch.cat([part.tensors()[name] for part in parts]) for name in names})


def _rows(
    asked: SpreadQuestion,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    values: Float[Tensor, "b o g"],
    background: Background,
) -> Iterator[Spread]:
    """Each input with a process of its own, whose path is all paths to it one after the other."""
    question, request = asked.question, asked.request
    one = x.new_ones(1, values.shape[2])
    for i, (end, rows) in enumerate(zip(x, baselines.expand(len(x), -1, -1), strict=True)):
        shares = rows.new_full((len(rows),), 1 / len(rows)) if background.shares is None else background.shares
        different, index = rows.unique(dim=0, return_inverse=True)  # two equal paths are one with both shares
        shares = rows.new_zeros(len(different)).index_add(0, index, shares)
        bundle = Bundle(question.process, end, different, shares, background.sets)
        seeded = replace(request, seed=request.seed + NEXT_ROW * i) if isinstance(request, Samples) else request
        row = SpreadQuestion(replace(question, process=bundle), seeded)
        yield row.answer(one, torch.zeros_like(one), values[[i]])
