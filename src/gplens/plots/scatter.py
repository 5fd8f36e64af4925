"""The attribution of a feature against its value."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from gplens.display.marks import Attributions, check_level, marks, output_of, titles
from gplens.display.wording import elided, number
from gplens.plots.beeswarm import colours
from gplens.plots.canvas import (
    axes_of,
    axis_label,
    note,
    plain,
    plain_frame,
    root_figure,
    separate_thousands,
    write_title,
)
from gplens.plots.colours import GREY, LOW_TO_HIGH, LOWERS, ink


def scatter(
    explanation: Attributions,
    feature: str,
    *,
    colour_by: str | None = None,
    output: Any = None,
    level: float = 0.9,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """A point for each input: a feature's value, its attribution with the interval, and the value of another feature.

    Where the feature has the value of a single baseline, drawn as a dotted line, its attribution is zero.

    Args:
        explanation: the result of `gplens.explain`, of several inputs.
        feature: the name of the feature.
        colour_by: the name of the feature that colours the points.
        output: the position or name of an output; required if there are several.
        level: the probability of the intervals.
        unit: the unit of the prediction, for the label of the axis.
        ax: the axes to draw on; those of a new figure if None.

    Returns:
        The axes; `ax.figure.savefig("picture.png")` writes a file.

    Raises:
        ValueError: if there is no such feature or output.

    Example:
        >>> ax = gplens.plots.scatter(explanation, "heat", colour_by="time")
    """
    e, level, k = explanation, check_level(level), _column(explanation, feature)
    j = output_of(e, output)
    shown, x = marks(e, j, slice(None), ([k],), level), e.inputs[:, k].numpy()
    other = None if colour_by is None else e.inputs[:, _column(e, colour_by)].numpy()
    ax = axes_of(ax, 6.4 if other is None else 7.2, 3.6)
    ax.axhline(0, color=ink(), linewidth=0.8, zorder=1)
    if not e.background and bool((e.baseline[:, k] == e.baseline[0, k]).all()):
        ax.axvline(float(e.baseline[0, k]), color=GREY, linestyle=":", linewidth=1.2, zorder=1)
        at = f"baseline {number(float(e.baseline[0, k]))}"
        note(ax, at, (float(e.baseline[0, k]), 0), (3, 3), axes="y", colour=GREY)
    if shown.low is not None and shown.high is not None:
        lines = ax.vlines(x, shown.low[:, 0], shown.high[:, 0], color=ink(), linewidth=0.8, zorder=2)
        lines.set(alpha=max(0.1, min(0.4, 60 / max(len(x), 1))), gid="whiskers")
    ax.scatter(x, shown.values[:, 0], c=LOWERS if other is None else colours(other), s=22, linewidth=0, zorder=3)
    if other is not None and colour_by is not None:
        _colour_bar(ax, other, colour_by)
    plain_frame(ax)
    separate_thousands(ax.yaxis)
    name = elided(feature, 40)
    ax.set(xlabel=plain(name), ylabel=axis_label(f"attribution of {name}", unit))
    title, subtitle = titles(e, j, None, shown.caption)
    write_title(ax, f"{title}, {len(x):,} inputs", subtitle)
    return ax


def _column(e: Attributions, feature: Any) -> int:
    """The column of a feature that is a number in each input."""
    if feature not in e.feature_names:
        raise ValueError(f"expected a feature of {list(e.feature_names)}, got {feature!r}.")
    k = e.feature_names.index(feature)
    without = e.inputs[:, k].isnan()
    if bool(without.any()):
        row = int(without.int().argmax())
        text = e.labels.input_text(row, k)
        got = "a group of features" if text is None else f"which is {text!r} in input {row}"
        raise ValueError(
            f"expected a feature that is a number in each input, got {feature!r}, {got}; leave such inputs out, or "
            "draw gplens.plots.beeswarm(explanation)."
        )
    return k


def _colour_bar(ax: Axes, other: np.ndarray, name: str) -> None:
    """The colours from the 5 % to the 95 % quantile. Two values have a tick each, and a constant has no scale."""
    label = elided(name, 40)
    if np.ptp(other) == 0:
        same = f"{label} = {number(float(other[0]))}"
        note(ax, same, (1, 1), (0, -4), axes="both", align="right top", colour=GREY)
        return
    low, high = np.quantile(other, [0.05, 0.95])
    if low == high:
        low, high = other.min(), other.max()
    scale = ScalarMappable(Normalize(low, high), LOW_TO_HIGH)
    bar = root_figure(ax).colorbar(scale, ax=ax, aspect=30, pad=0.02, fraction=0.05, label=plain(label))
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    if len(np.unique(other)) == 2:
        bar.set_ticks([low, high], labels=[number(float(end)) for end in (low, high)])
