"""The spread of attributions that are averages over a background: joint over its paths (MATH 5.20)."""

from dataclasses import replace
from functools import partial
from math import isqrt

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.explanation.spread import Spread
from gplens.paths.averaging import Background
from gplens.paths.integrand import Question
from gplens.processes.bundle import Bundle
from gplens.uncertainty.requests import Samples, Uncertainty
from gplens.uncertainty.row_spreads import spread_row_by_row
from gplens.uncertainty.spreads import SpreadQuestion

MOST_ROWS = 32
"""The most rows of a background. The cost grows with the number of pairs of rows."""
NODES = 16
"""The number of nodes of a typical path."""
NUMBERS = 2**25
"""The most numbers in a covariance between the nodes of all paths and gradients there, 0.27 GB."""


def check_background(question: Question, request: Uncertainty, rows: int) -> None:
    """Refuse a background whose pairs of paths would take too long or too much memory."""
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
    return spread_row_by_row(question, request, x, baselines, values, background, partial(_row, background))


def _row(
    background: Background,
    asked: SpreadQuestion,
    x: Float[Tensor, " d"],
    baselines: Float[Tensor, "s d"],
    shares: Float[Tensor, " s"],
    values: Float[Tensor, "o d"],
) -> Spread:
    """One input, with a process whose single path consists of all paths to this input, one after the other."""
    different, index = baselines.unique(dim=0, return_inverse=True)  # equal paths are merged, and their shares added
    shares = shares.new_zeros(len(different)).index_add(0, index, shares)
    bundle = Bundle(asked.question.process, x, different, shares, background.sets)
    sums = background.summed(values[None])
    one = x.new_ones(1, sums.shape[2])
    question = replace(asked.question, process=bundle)
    return SpreadQuestion(question, asked.request).answer(one, torch.zeros_like(one), sums)
