"""Integrated Gradients of a black box: central differences of its predictions, integrated along the path."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.verification.host import SINGLE, Host

ORDER = 8
"""Gauss-Legendre nodes of a panel."""
PANELS = (4, 8, 16, 32, 64)
STENCIL = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))
"""Multiples of the step, and their weights: the error is of the fourth order."""


def nodes(panels: int) -> tuple[Float[Tensor, " q"], Float[Tensor, " q"]]:
    """Nodes and weights on [0, 1]."""
    t, w = np.polynomial.legendre.leggauss(ORDER)
    t = ((np.arange(panels)[:, None] + (t + 1) / 2) / panels).ravel()
    return torch.from_numpy(t), torch.from_numpy(np.tile(w / 2, panels) / panels)


def step_of(host: Host) -> float:
    """The step of differences, relative to the length of the path in the feature, for the digits of the host."""
    return 2e-2 if host.error == SINGLE else 1e-3


def integrated_differences(
    host: Host, x0: Float[Tensor, " d"], x: Float[Tensor, " d"], features: list[int], accuracy: float
) -> tuple[Float[Tensor, "o k"], Float[Tensor, "o k"]]:
    """Attributions of some features by central differences, and the change that twice as many panels made.

    Panels are doubled until that change is below `accuracy`, in units of the prediction, or there are no more.
    """
    before: Tensor | None = None
    change = torch.tensor(torch.inf)
    for panels in PANELS:
        now = torch.stack([_one_feature(host.in_blocks, x0, x, k, step_of(host), panels) for k in features], dim=1)
        if before is not None:
            change = (now - before).abs()
            if bool(change.max() <= accuracy):
                return now, change
        before = now
    assert before is not None
    return before, change


def _one_feature(
    predict: Callable[[Tensor], Tensor], x0: Tensor, x: Tensor, feature: int, step: float, panels: int
) -> Float[Tensor, " o"]:
    t, w = nodes(panels)
    points, h = x0 + t[:, None] * (x - x0), step * (x - x0)[feature]
    if h == 0:
        return torch.zeros_like(predict(x[None])[0])
    unit = torch.zeros_like(x)
    unit[feature] = 1.0
    values = predict(torch.cat([points + a * h * unit for a, _ in STENCIL])).unflatten(0, (len(STENCIL), -1))
    slope = torch.einsum("s,sqo->qo", torch.tensor([b for _, b in STENCIL], dtype=x.dtype), values) / h
    return (x - x0)[feature] * (w @ slope)
