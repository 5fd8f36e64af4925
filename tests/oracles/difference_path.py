"""Integrated Gradients of a black box: fourth-order central differences of a host's own predictions along the path."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
STENCIL = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))
"""Multiples of the step, and their weights: the error is of the fourth order."""


def integrated_gradients(
    predict: Callable[[Array], Array], X: Array, x0: Array, step: Array, *, order: int = 10, panels: int = 8
) -> Array:
    """d_k int d_k T(x0 + t d) dt: (b, d), or (b, c, d) where the prediction has c columns."""
    return np.stack([_attributions_of(predict, x, x0, step, order, panels) for x in X])


def _attributions_of(
    predict: Callable[[Array], Array], x: Array, x0: Array, step: Array, order: int, panels: int
) -> Array:
    t, w = np.polynomial.legendre.leggauss(order)
    t = ((np.arange(panels)[:, None] + (t + 1) / 2) / panels).ravel()
    w = np.tile(w / 2, panels) / panels
    points = x0 + t[:, None] * (x - x0)
    shifts = [a * h for h in np.diag(step) for a, _ in STENCIL]
    values = predict(np.concatenate([points + shift for shift in shifts]))
    values = values.reshape(len(step), len(STENCIL), len(t), -1)
    slopes = np.einsum("s,dsqc->dqc", [b for _, b in STENCIL], values) / step[:, None, None]
    attribution = (x - x0)[:, None] * np.einsum("q,dqc->dc", w, slopes)
    return attribution[:, 0] if attribution.shape[1] == 1 else attribution.T
