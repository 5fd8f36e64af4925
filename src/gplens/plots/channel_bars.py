"""Attributions drawn as the stacked parts that come through the mean, the variance, and constraints."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from gplens.display.marks import Marks, of_output
from gplens.plots.colours import CLASSES

Array = NDArray[np.float64]


def parts_of(channels: Any, j: int | None, row: int, shown: Marks) -> dict[str, Array] | None:
    """The part of every bar that comes through each channel; None if the explanation has no channels."""
    if channels is None:
        return None
    of_row = {name: of_output(part, j)[row] for name, part in channels.items()}
    return {name: np.array([float(part[group].sum()) for group in shown.columns]) for name, part in of_row.items()}


def draw_parts(ax: Axes, y: Array, begins: Array, parts: dict[str, Array], height: float) -> None:
    """In each row a thin bar for each channel, one below the other; each begins where the previous one ends.

    Parts of opposite sign stay visible, since no bar lies on another.
    """
    thin, left = height / len(parts), begins
    for i, (name, values) in enumerate(parts.items()):
        middle = y - height / 2 + (i + 0.5) * thin
        ax.barh(middle, values, left=left, height=thin, color=CLASSES[i % len(CLASSES)], label=name, zorder=2)
        left = left + values
    ax.legend(loc="best", fontsize="small", frameon=False)
