"""The spread of sums of attributions over sets of features: one coordinate of the path for each set (MATH 5.19)."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.explanation.spread import Spread
from gplens.paths.integrand import Question
from gplens.processes.transformed import Transformed
from gplens.uncertainty.answers import check_request, spread_of
from gplens.uncertainty.requests import Samples, Uncertainty

NEXT_ROW = 1_000_003
"""The difference between the seeds of consecutive inputs."""

Sets = Sequence[Sequence[int]]


def check_sums(question: Question, request: Uncertainty, sets: Sets) -> None:
    """Refuse a request that cannot be computed, before anything is computed."""
    nowhere = torch.zeros(question.process.features, dtype=torch.float64)
    check_request(_along(question, nowhere, nowhere, sets), request)


def spread_of_sums(
    question: Question,
    request: Uncertainty,
    x: Float[Tensor, "b d"],
    x0: Float[Tensor, "#b d"],
    values: Float[Tensor, "b o d"],
    sets: Sets,
) -> Spread:
    """The spread of sums of the attributions `values` over sets of features, input by input.

    With a coordinate u_s for each set, x = x0 + sum_s u_s d_s, where d_s has the entries of d = x - x0 in set s, and
    the path runs from u = 0 to u = 1. The attribution of u_s is the sum over the set, by the chain rule, so that its
    deviation needs no covariances between features: it is that of a process of affinely transformed inputs (5.19).
    """
    parts = []
    for i, (end, start) in enumerate(zip(x, x0.expand_as(x), strict=True)):
        asked = request
        if isinstance(request, Samples):
            asked = replace(request, seed=request.seed + NEXT_ROW * i)
        summed = torch.stack([values[i, :, list(members)].sum(-1) for members in sets], dim=-1)[None]
        one, zero = x.new_ones(1, len(sets)), x.new_zeros(1, len(sets))
        parts.append(spread_of(_along(question, start, end, sets), asked, one, zero, summed))
    names = parts[0].tensors()
    return replace(parts[0], **{name: torch.cat([part.tensors()[name] for part in parts]) for name in names})


def _along(question: Question, x0: Float[Tensor, " d"], x: Float[Tensor, " d"], sets: Sets) -> Question:
    """The same question with one coordinate for each set, which moves the features of the set from x0 to x together."""
    W = x.new_zeros(len(sets), len(x))
    for s, members in enumerate(map(list, sets)):
        W[s, members] = (x - x0)[members]  # (5.19)
    return replace(question, process=Transformed(question.process, W, x0))
