"""Intervals that need joint distributions: of the contrast of two outputs, and of mean sizes over rows."""

from itertools import combinations
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.display.marks import marks
from gplens.page.packing import floats

MOST_NUMBERS = 60_000
"""The most intervals of contrasts in a page (1.3 MB): those of 3 classes, 1,000 rows and 20 features."""
BOUND = "± 1 posterior sd at most: the mean of the rows' deviations"
"""sd(mean_i |a_i|) <= mean_i sd(a_i), since a deviation is a norm; equal if all rows are fully correlated."""


def contrasts(part: Any, level: float) -> dict[str, Any]:
    """The ends of the intervals of output i minus output j, i < j, for each row and feature; or why there are none."""
    names, spread = part.output_names, part.spread
    if names is None or len(names) < 2 or spread is None or spread.std is None:
        return {"contrasts": None, "no_contrasts": None}
    if spread.draws is None or not spread.joint_draws:
        return {"contrasts": None, "no_contrasts": "they need joint draws: uncertainty=gplens.Samples(1000, seed=0)"}
    pairs = list(combinations(range(len(names)), 2))
    if len(pairs) * part.values[:, 0].numel() > MOST_NUMBERS:
        return {"contrasts": None, "no_contrasts": "the page would be too large; explanation.contrast() has them"}
    columns = tuple([k] for k in range(len(part.feature_names)))
    bars = [marks(part.contrast(i, j), None, slice(None), columns, level) for i, j in pairs]
    low, high = (np.stack([getattr(pair, name) for pair in bars]) for name in ("low", "high"))
    return {"contrasts": {"low": floats(low), "high": floats(high)}, "no_contrasts": None}


def mean_sizes(part: Any, level: float) -> dict[str, Any] | None:
    """The ends of the intervals of mean |attribution|: for each output, then for the likeliest output of each row.

    From draws that are joint over the rows they are posterior intervals (5.24), from deviations an upper bound.
    """
    spread: Any = part.spread
    if spread is None or spread.std is None:
        return None
    several = part.output_names is not None
    together: Tensor | None = spread.draws if spread.across_rows else None
    values, std = (tensor if several else tensor[:, None] for tensor in (part.values, spread.std))
    drawn = None if together is None else together.reshape(*together.shape[:2], *values.shape[1:])
    row, likeliest = torch.arange(len(values)), part.prediction.reshape(len(values), -1).argmax(1)
    choices = [torch.full_like(row, output) for output in range(values.shape[1])]
    ends = [
        _drawn_ends(drawn[row, :, chosen], level)
        if drawn is not None
        else _bounds(values[row, chosen], std[row, chosen])
        for chosen in [*choices, likeliest]
    ]
    low, high = (torch.stack(side) for side in zip(*ends, strict=True))
    interval = f"{100 * level:g} % posterior intervals, joint over the rows" if drawn is not None else BOUND
    return {"low": floats(low), "high": floats(high), "interval": interval}


def _drawn_ends(draws: Float[Tensor, "b s d"], level: float) -> tuple[Tensor, Tensor]:
    tails = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=draws.dtype)
    low, high = torch.quantile(draws.abs().mean(0), tails, dim=0)
    return low, high


def _bounds(values: Float[Tensor, "b d"], std: Float[Tensor, "b d"]) -> tuple[Tensor, Tensor]:
    size, bound = values.abs().mean(0), std.mean(0)
    return torch.relu(size - bound), size + bound
