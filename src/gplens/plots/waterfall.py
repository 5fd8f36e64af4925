"""From the prediction at the baseline to that at one input, feature by feature."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from gplens.display.marks import (
    Attributions,
    Marks,
    by_size,
    check_level,
    marks,
    of_output,
    output_of,
    row_of,
    split,
    titles,
)
from gplens.display.wording import aligned, decimals, entry_text, told_apart, with_deviation, with_values
from gplens.plots.canvas import (
    axes_of,
    axis_label,
    column_of_texts,
    rows_of_features,
    separate_thousands,
    whiskers,
    write_title,
)
from gplens.plots.channel_bars import draw_parts, parts_of
from gplens.plots.colours import GREY, ink, of_sign
from gplens.plots.support_strip import STRIP, draw_support, strip_below

BAR = 0.62
"""The height of a bar, in units of a row."""


def waterfall(
    explanation: Attributions,
    *,
    row: int = 0,
    output: Any = None,
    top: int = 12,
    level: float = 0.9,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """One input: bars from the prediction at the baseline to that at the input, the largest first.

    A whisker is the interval of the attribution of its feature, drawn from the beginning of the bar. If the explanation
    has `channels`, each bar is divided into the parts that come through the mean and through the variance. If it has a
    `support`, a strip below shows it along the path.

    Args:
        explanation: the result of `gplens.explain`.
        row: the position of the input.
        output: the position or name of an output; the one with the largest prediction if None.
        top: the most features with a bar each; the others are summed in one bar.
        level: the probability of the intervals.
        unit: the unit of the prediction, for the label of the axis.
        ax: the axes to draw on; those of a new figure if None.

    Returns:
        The axes; `ax.figure.savefig("picture.png")` writes a file.

    Raises:
        ValueError: if there is no such row or output.

    Example:
        >>> ax = gplens.plots.waterfall(explanation, unit="degrees")
        >>> ax.figure.savefig("waterfall.png")  # doctest: +SKIP
    """
    e, row, level = explanation, row_of(explanation, row), check_level(level)
    j = output_of(e, output, row)
    order = by_size(of_output(e.values, j)[row : row + 1])
    shown = marks(e, j, [row], split(order, top), level)
    at_baseline, at_input = (float(of_output(part, j)[row]) for part in (e.baseline_prediction, e.prediction))
    ax = axes_of(ax, 7.2, 0.7 + 0.3 * (len(shown.names) + 2) + (0 if e.support is None else STRIP + 0.3))
    labels, parts = step_labels(e, shown, row), parts_of(e.channels, j, row, shown)
    word = "value" if e.provenance.acquisition else "prediction"
    draw_steps(ax, shown, at_baseline, at_input, labels=["baseline", *labels, word], parts=parts)
    ax.set_xlabel(axis_label(word, unit))
    if e.support is not None:
        draw_support(strip_below(ax), e.support.along[row])
    sd = "" if shown.std is None else "± 1 sd in numbers, "
    write_title(ax, *titles(e, j, row, sd + shown.caption))
    return ax


def step_labels(e: Attributions, shown: Marks, row: int) -> list[str]:
    """The name of each feature with its value at the baseline and at the input."""
    labels = told_apart(shown.names)
    for i, group in enumerate(shown.columns):
        if len(group) == 1:
            (k,) = group
            value = entry_text(e.labels.input_text(row, k), float(e.inputs[row, k]))
            baseline = None if e.background else entry_text(e.labels.baseline_text(row, k), float(e.baseline[row, k]))
            labels[i] = with_values(labels[i], value, baseline)
    return labels


def draw_steps(
    ax: Axes,
    shown: Marks,
    at_baseline: float,
    at_input: float,
    *,
    labels: list[str],
    parts: dict[str, NDArray[np.float64]] | None = None,
) -> None:
    """The bars of the first input of some marks, between a row for the baseline and a row for the input.

    With `parts`, the values by channel, each bar is divided into them.
    """
    values = shown.values[0]
    ends = at_baseline + np.cumsum(values)
    begins, y = np.concatenate([[at_baseline], ends[:-1]]), np.arange(1.0, len(values) + 1)
    if parts is None:
        ax.barh(y, values, left=begins, height=BAR, color=[of_sign(value) for value in values], zorder=2)
    else:
        draw_parts(ax, y, begins, parts, BAR)
    zero = values == 0
    ax.vlines(begins[zero], y[zero] - BAR / 2, y[zero] + BAR / 2, color=GREY, linewidth=1.5, zorder=2)
    turns = np.concatenate([[at_baseline], ends])
    ax.vlines(turns, np.arange(len(turns)), np.arange(len(turns)) + 1, color=GREY, linewidth=0.8, zorder=1)
    ax.plot([at_baseline, at_input], [0, len(values) + 1], "o", color=ink(), markersize=5, zorder=5)
    if shown.low is not None and shown.high is not None:
        whiskers(ax, y, begins + shown.low[0], begins + shown.high[0])
    rows_of_features(ax, labels)
    places, of_ends = decimals(float(np.abs(values).max())), decimals(max(abs(at_baseline), abs(at_input)))
    texts = [with_deviation(value, shown.deviation(0, i), places) for i, value in enumerate(values.tolist())]
    first, last = (f"= {aligned(prediction, of_ends)}" for prediction in (at_baseline, at_input))
    column_of_texts(ax, np.arange(len(values) + 2.0), [first, *texts, last])
    ax.use_sticky_edges = False
    ax.margins(x=0.04)
    ax.ticklabel_format(axis="x", useOffset=False)
    ax.locator_params(axis="x", nbins=6)
    separate_thousands(ax.xaxis)
