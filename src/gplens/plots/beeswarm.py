"""Attributions of many inputs: a row of points for each feature, coloured by the feature's value."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import to_rgba

from gplens.display.marks import Array, Attributions, by_size, check_level, marks, of_output, output_of, split, titles
from gplens.display.wording import told_apart
from gplens.plots.canvas import (
    SMALL,
    axes_of,
    axis_label,
    root_figure,
    rows_of_features,
    separate_thousands,
    write_title,
)
from gplens.plots.colours import GREY, LOW_TO_HIGH, ink

SWARM = 0.38
"""Half of the height over which the points of a feature are spread, in units of a row."""
BINS = 60
"""The number of bins along a row; the points of a bin are spread over the height of the row."""


def beeswarm(
    explanation: Attributions,
    *,
    output: Any = None,
    top: int = 12,
    level: float = 0.9,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """A point for each input and feature, with its interval as a light whisker; many points are stacked.

    The colour is the value of the feature, from its 5 % to its 95 % quantile; grey where there is no such value: for
    a group of features, the sum of the others, and a feature that is equal in all inputs.

    Args:
        explanation: the result of `gplens.explain`, of several inputs.
        output: the position or name of an output; required if there are several.
        top: the most features with a row each; the others are summed in one row.
        level: the probability of the intervals.
        unit: the unit of the prediction, for the label of the axis.
        ax: the axes to draw on; those of a new figure if None.

    Returns:
        The axes; `ax.figure.savefig("picture.png")` writes a file.

    Raises:
        ValueError: if there is no such output, or only one input.

    Example:
        >>> ax = gplens.plots.beeswarm(explanation)
    """
    e, level = explanation, check_level(level)
    if not len(e.values):
        raise ValueError("expected an explanation of at least one input, got none.")
    j = output_of(e, output)
    shown = marks(e, j, slice(None), split(by_size(of_output(e.values, j)), top), level)
    ax = axes_of(ax, 7.4, 0.8 + 0.42 * len(shown.names))
    ax.axvline(0, color=ink(), linewidth=0.8, zorder=1)
    width = float(np.ptp(shown.values)) or 1.0
    for i, group in enumerate(shown.columns):
        x = shown.values[:, i]
        y = i + swarm(x, width)
        feature = e.inputs[:, group[0]].numpy() if len(group) == 1 else np.full(len(x), np.nan)
        if shown.low is not None and shown.high is not None and not np.isnan(shown.low[:, i]).any():
            _light_whiskers(ax, y, shown.low[:, i], shown.high[:, i])
        ax.scatter(x, y, c=colours(feature), s=16 if len(x) <= 300 else 7, linewidth=0, zorder=3).set_gid(
            shown.names[i]
        )
    rows_of_features(ax, told_apart(shown.names))
    separate_thousands(ax.xaxis)
    ax.set_xlabel(axis_label("attribution", unit))
    _colour_bar(ax)
    title, subtitle = titles(e, j, None, shown.caption)
    write_title(ax, f"{title}, {len(e.values):,} inputs", subtitle)
    return ax


def swarm(x: Array, width: float) -> Array:
    """Offsets from the middle of a row: the points of a bin are stacked to both sides."""
    bins = np.round((x - x.min()) / width * BINS).astype(int)
    offsets, counts = np.zeros(len(x)), np.bincount(bins)
    for number in np.unique(bins):
        members = np.flatnonzero(bins == number)
        ranks = np.arange(len(members)) - (len(members) - 1) / 2
        offsets[members] = ranks * min(0.12, 2 * SWARM / max(counts.max() - 1, 1))
    return offsets


def colours(feature: Array) -> Array:
    """A colour for each value, from the 5 % to the 95 % quantile; grey where there is none, or all are equal."""
    finite = np.isfinite(feature)
    grey = np.tile(to_rgba(GREY), (len(feature), 1))
    if not finite.any() or np.ptp(feature[finite]) == 0:
        return grey
    low, high = np.quantile(feature[finite], [0.05, 0.95])
    if low == high:  # nearly all values are equal
        low, high = feature[finite].min(), feature[finite].max()
    shares = np.clip((np.where(finite, feature, low) - low) / (high - low), 0, 1)
    return np.where(finite[:, None], LOW_TO_HIGH(shares), grey)


def _light_whiskers(ax: Axes, y: Array, low: Array, high: Array) -> None:
    lines = ax.hlines(y, low, high, color=ink(), linewidth=0.7, alpha=max(0.06, min(0.3, 30 / len(y))), zorder=2)
    lines.set_gid("whiskers")


def _colour_bar(ax: Axes) -> None:
    bar = root_figure(ax).colorbar(ScalarMappable(cmap=LOW_TO_HIGH), ax=ax, aspect=30, pad=0.02, fraction=0.05)
    bar.set_ticks([0, 1], labels=["low", "high"], fontsize=SMALL)
    bar.set_label("value of the feature", fontsize=SMALL, labelpad=-14)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    bar.ax.tick_params(length=0)
