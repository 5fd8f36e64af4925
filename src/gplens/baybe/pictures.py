"""The kinds of plots of SHAPInsight."""

import warnings
from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np
import pandas

from gplens.explanation import Explanation

KINDS = ("bar", "beeswarm", "force", "heatmap", "scatter", "waterfall")
"""BayBE's names. gplens draws all but "force" and "heatmap", which shap draws."""
SINGLE = ("force", "waterfall")
"""Plots of one experiment."""
WHISKERS = ("scatter", "waterfall")
"""Plots with error bars, which are not computed for the others."""
MOST = 12
"""The most scatter plots in one figure, those of the numbers with the largest attributions."""
ABREAST = 4
"""The number of scatter plots in a row."""
SIDE = 4.5
"""The width and height of a scatter plot in inches."""


def draw(
    kind: str,
    explain: Callable[[pandas.DataFrame, bool], Explanation],
    rows: pandas.DataFrame,
    *,
    show: bool,
    explanation_index: int | None,
) -> Any:
    """A plot of one kind. `explain` returns the explanation of some rows, with error bars or without."""
    if kind not in KINDS:
        raise ValueError(f"expected a plot type of {', '.join(KINDS)}, got {kind!r}.")
    if kind in SINGLE and explanation_index is None:
        warnings.warn(f"expected explanation_index for {kind!r}, a picture of one row, got None: row 0.", stacklevel=3)
    explanation = explain(rows.iloc[[explanation_index or 0]] if kind in SINGLE else rows, kind in WHISKERS)
    if kind in ("force", "heatmap"):
        return _of_shap(kind, explanation, show=show)
    figure = _figure(kind, explanation, show=show)
    axes = _scatters(explanation, figure) if kind == "scatter" else _own(kind, explanation, figure)
    if show:
        from matplotlib import pyplot

        pyplot.show()
    return axes


def _figure(kind: str, explanation: Explanation, *, show: bool) -> Any:
    """A figure of pyplot if it will be shown; else None, so that the plot makes a new figure."""
    if not show:
        return None
    from matplotlib import pyplot

    size = None if kind == "scatter" else (8.0, 2 + 0.4 * len(explanation.feature_names))
    return pyplot.figure(figsize=size, layout="constrained")


def _own(kind: str, explanation: Explanation, figure: Any) -> Any:
    from gplens import plots

    drawn = {"bar": plots.bar, "beeswarm": plots.beeswarm, "waterfall": plots.waterfall}[kind]
    return drawn(explanation, ax=None if figure is None else figure.add_subplot())


def _scatters(explanation: Explanation, figure: Any) -> Any:
    """A scatter plot for each number, side by side; the axes of several as an array."""
    from matplotlib.figure import Figure

    from gplens import plots

    names = _scattered(explanation)
    across = min(ABREAST, len(names))
    down = ceil(len(names) / across)
    figure = figure or Figure(layout="constrained")
    figure.set_size_inches(SIDE * across, SIDE * down)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for ax in axes[len(names) :]:
        ax.remove()
    for name, ax in zip(names, axes, strict=False):
        plots.scatter(explanation, name, ax=ax)
    return axes[: len(names)] if len(names) > 1 else axes[0]


def _scattered(e: Explanation) -> list[str]:
    """The numbers with the largest attributions, in their order; with warnings of what is left out."""
    numbers = [k for k in range(len(e.feature_names)) if not bool(e.inputs[:, k].isnan().any())]
    others = [name for k, name in enumerate(e.feature_names) if k not in numbers]
    if not numbers:
        raise ValueError(f"expected a parameter that is a number for a scatter plot, got {others} alone.")
    if others:
        warnings.warn(f"non-numeric parameters are left out of the scatter plot: {others}", stacklevel=5)
    size = e.values.abs().mean(0)
    drawn = sorted(numbers, key=lambda k: -float(size[k]))[:MOST]
    if len(drawn) < len(numbers):
        warnings.warn(f"the scatter plot shows the {MOST} largest of {len(numbers)} numbers", stacklevel=5)
    return [e.feature_names[k] for k in sorted(drawn)]


def _of_shap(kind: str, explanation: Explanation, *, show: bool) -> Any:
    from gplens.adapters.hosts import Extra

    with Extra("shap", f"the plot {kind!r}"):
        import shap
    given = explanation.to_shap()
    if kind == "force":
        return shap.plots.force(given[0], matplotlib=True, show=show)
    order = (
        {"instance_order": np.zeros(1, dtype=int)} if len(given) == 1 else {}
    )  # one row, which shap does not cluster
    ax: Any = shap.plots.heatmap(given, show=False, **order)
    for other in ax.figure.axes:
        if "SHAP" in other.get_ylabel():
            other.set_ylabel("attribution", size=12, labelpad=-10)  # what the colours show; shap says SHAP value
    if show:
        import matplotlib.pyplot as plt

        plt.show()
    return ax
