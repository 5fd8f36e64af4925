"""Spreads that are computed input by input: draws of hyper-parameters, shares of baselines, seeds, joined rows."""

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.explanation.spread import Spread
from gplens.paths.attribute import Adaptive, attribute
from gplens.paths.averaging import Background
from gplens.paths.integrand import Question
from gplens.uncertainty.answers import of_every_draw, pooled
from gplens.uncertainty.requests import Samples, Uncertainty
from gplens.uncertainty.spreads import SpreadQuestion
from gplens.uncertainty.sums import NEXT_ROW

RowSpread = Callable[[SpreadQuestion, Tensor, Tensor, Tensor, Tensor], Spread]
"""A function from (question, x, baselines, shares of the baselines, values) of one input to its spread."""


def spread_row_by_row(
    question: Question,
    request: Uncertainty,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    values: Float[Tensor, "b o d"],
    background: Background,
    of_row: RowSpread,
) -> Spread:
    """The spread of the averages `values` over the paths from several baselines.

    With draws of hyper-parameters, the spread of every draw is computed around its own average, and all are pooled.
    """
    draws = question.expectation.draws_of(question.outputs)
    if draws is None:
        return _rows(SpreadQuestion(question, request), x, baselines, values, background, of_row)
    every_draw = of_every_draw(question, request, draws)
    draw_values = attribute(every_draw.question, Adaptive(), x, baselines, background).integral.values
    spread = _rows(every_draw, x, baselines, draw_values, background, of_row)
    return pooled(spread, background.summed(draw_values), draws.counts, request)


def _rows(
    asked: SpreadQuestion,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    values: Float[Tensor, "b o d"],
    background: Background,
    of_row: RowSpread,
) -> Spread:
    """Compute each input with its own seed."""
    parts, count = [], baselines.shape[1]
    shares = x.new_full((count,), 1 / count) if background.shares is None else background.shares
    for i, (end, starts) in enumerate(zip(x, baselines.expand(len(x), -1, -1), strict=True)):
        request = asked.request
        if isinstance(request, Samples):
            request = replace(request, seed=request.seed + NEXT_ROW * i)
        parts.append(of_row(replace(asked, request=request), end, starts, shares, values[i]))
    names = parts[0].tensors()
    return replace(parts[0], **{name: torch.cat([part.tensors()[name] for part in parts]) for name in names})
