"""How much each feature matters: the attributions of one input, or their mean size over several."""

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes

from gplens.display.marks import (
    Array,
    Attributions,
    Marks,
    by_size,
    check_level,
    marks,
    of_output,
    output_name,
    output_of,
    split,
    titles,
)
from gplens.display.wording import decimals, others_label, told_apart, with_deviation
from gplens.plots.canvas import (
    SMALL,
    axes_of,
    axis_label,
    column_of_texts,
    plain,
    rows_of_features,
    separate_thousands,
    whiskers,
    write_title,
)
from gplens.plots.colours import CLASSES, LOWERS, ink, of_sign

BAR = 0.7
"""The height of the bars of a feature together, in units of a row."""
BOUND = "± 1 sd at most (the mean of the rows' deviations)"
"""sd(mean_i |a_i|) <= mean_i sd(a_i): a deviation is a norm. Equal if rows are fully correlated."""

REMEDY = "which uncertainty=gplens.Samples(1000, seed=0, across_rows=True) has"
NOISY = "; above the end of a bar where attributions are mostly uncertain"
"""E |a| > |E a|."""


def bar(
    explanation: Attributions,
    *,
    output: Any = None,
    top: int = 12,
    level: float = 0.9,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """The attributions of one input with their intervals; of several inputs, the mean |attribution| of each feature.

    Attributions of different inputs are correlated. After Samples(count, seed, across_rows=True) the whiskers of a mean
    are its posterior interval, as in `explanation.importance()`; else an upper bound of its standard deviation.

    Args:
        explanation: the result of `gplens.explain`.
        output: the position or name of an output; the four outputs with the largest attributions, side by side, if
            None.
        top: the most features with a bar each; the others are summed in one bar.
        level: the probability of the intervals.
        unit: the unit of the prediction, for the label of the axis.
        ax: the axes to draw on; those of a new figure if None.

    Returns:
        The axes; `ax.figure.savefig("picture.png")` writes a file.

    Raises:
        ValueError: if there is no such output.

    Example:
        >>> ax = gplens.plots.bar(explanation)
    """
    e, level, single = explanation, check_level(level), len(explanation.values) == 1
    if not len(e.values):
        raise ValueError("expected an explanation of at least one input, got none.")
    outputs = _outputs(e, output)
    columns = split(by_size(torch.cat([of_output(e.values, j) for j in outputs])), top)
    shown = [_signed(e, j, columns, level) if single else _mean_sizes(e, j, columns, level) for j in outputs]
    ax = axes_of(ax, 7.2, 0.7 + (0.3 if len(outputs) == 1 else 0.12 + 0.12 * len(outputs)) * len(columns))
    height = BAR / len(outputs)
    for i, bars in enumerate(shown):
        y = np.arange(float(len(columns))) + (i - (len(outputs) - 1) / 2) * height
        ax.barh(y, bars.values[0], height=0.9 * height, color=_colours(bars, i, outputs, single), zorder=2).set_label(
            plain(output_name(e, outputs[i]) or "")
        )
        if bars.low is not None and bars.high is not None:
            whiskers(ax, y, bars.low[0], bars.high[0])
    rows_of_features(ax, told_apart(shown[0].names))
    if len(outputs) == 1:
        _write_values(ax, shown[0], signed=single)
    else:
        _legend(ax, e, len(outputs))
    if single:
        ax.axvline(0, color=ink(), linewidth=0.8)
    else:
        ax.set_xlim(left=0)
    separate_thousands(ax.xaxis)
    ax.set_xlabel(axis_label("attribution" if single else "mean |attribution|", unit))
    title, subtitle = titles(e, outputs[0] if len(outputs) == 1 else None, None, shown[0].caption)
    write_title(ax, title if single else f"{title}, {len(e.values):,} inputs", subtitle)
    return ax


def _outputs(e: Attributions, output: Any) -> list[int | None]:
    """The outputs that are drawn side by side."""
    if output is not None or e.output_names is None or len(e.output_names) == 1:
        return [output_of(e, output)]
    sizes = e.values.abs().mean(0).sum(1)
    return sorted(sizes.argsort(descending=True, stable=True)[: len(CLASSES)].tolist())


def _signed(e: Attributions, j: int | None, columns: tuple[list[int], ...], level: float) -> Marks:
    """The attributions of a single input."""
    return marks(e, j, slice(None), columns, level)


def _mean_sizes(e: Attributions, j: int | None, columns: tuple[list[int], ...], level: float) -> Marks:
    """Mean sizes with their intervals, or a bound of their deviations. The sizes of the other features are added up."""
    single = marks(e, j, slice(None), tuple([k] for group in columns for k in group), level)
    places = np.cumsum([0, *map(len, columns)])[:-1].tolist()
    groups = list(zip(columns, places, strict=True))
    names = [single.names[k] if len(group) == 1 else others_label(len(group)) for group, k in groups]
    values = np.add.reduceat(np.abs(single.values).mean(0), places)[None]
    if single.std is None:
        return Marks(tuple(names), columns, values, None, None, None, "")
    if e.spread.across_rows and e.spread.draws is not None:
        drawn = of_output(e.spread.draws, j, 2).abs().mean(0)  # J of every posterior function  (5.24)
        sizes = torch.stack([drawn[:, group].sum(1) for group in columns], dim=1)
        tails = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=sizes.dtype)
        low, high = torch.quantile(sizes, tails, dim=0).numpy()
        above = NOISY if bool((low > values[0]).any()) else ""
        interval = f"{100 * level:g} % intervals, joint over the inputs{above}"
        return Marks(tuple(names), columns, values, sizes.std(0)[None].numpy(), low[None], high[None], interval)
    std = np.array([[_bound(e, j, single.std, group, k) for group, k in groups]])
    return Marks(tuple(names), columns, values, std, np.maximum(values - std, 0), values + std, BOUND, REMEDY)


def _bound(e: Attributions, j: int | None, std: Array, group: list[int], place: int) -> float:
    """The mean deviation of a feature, or of the summed sizes of several in joint draws; NaN for several without draws.

    The deviations of hundreds of features would add up to a bound that is far too large, since most of them cancel.
    """
    if len(group) == 1:
        return float(std[:, place].mean())
    if e.spread.draws is None or not e.spread.joint_draws:
        return float("nan")
    sizes = of_output(e.spread.draws, j, 2)[..., group].abs().sum(-1)
    return float(sizes.std(1).mean())


def _colours(bars: Marks, i: int, outputs: list[int | None], single: bool) -> str | list[str]:
    """By sign for the attributions of a single output; a colour for each of several outputs."""
    if len(outputs) > 1:
        return CLASSES[i]
    return [of_sign(value) for value in bars.values[0]] if single else LOWERS


def _write_values(ax: Axes, bars: Marks, *, signed: bool) -> None:
    values = bars.values[0]
    places = decimals(float(np.abs(values).max()))
    pairs = enumerate(values.tolist())
    texts = [with_deviation(value, bars.deviation(0, i), places, sign=signed) for i, value in pairs]
    column_of_texts(ax, np.arange(float(len(values))), texts)


def _legend(ax: Axes, e: Attributions, drawn: int) -> None:
    rest = len(e.output_names or ()) - drawn
    title = f"largest {drawn} of {drawn + rest} outputs" if rest else None
    ax.legend(frameon=False, title=title, loc="lower right", fontsize=SMALL, title_fontsize=SMALL)
