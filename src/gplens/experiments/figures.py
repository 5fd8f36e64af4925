"""The figures of the experiments, as objects of Matplotlib, without pyplot's global state."""

from collections.abc import Mapping

import numpy as np
import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gplens.experiments.study import LEVEL, ImageStudy

INK, GREY, RED, BLUE, GREEN = "#222222", "#9a9a9a", "#c0392b", "#2b6ca3", "#3f8f4f"
COLOURS = ("#3b6fb6", "#d1702e", "#4d9a53", "#8a5ba6", "#b5495b", "#7d6b4f")
PALE = 0.88
"""The grey of pixels whose interval contains zero."""


def convergence(gaps: pandas.DataFrame, printed: Mapping[str, tuple[float, ...]]) -> Figure:
    """The gap against the number of points: ours, with the range over seeds, the paper's, and that of the default."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    for colour, (name, paper) in zip(COLOURS, printed.items(), strict=True):
        lines = gaps.query("row == @name")
        by = lines.query("rule != 'default'").groupby("nodes")["gap"].agg(["mean", "min", "max"])
        axes.plot(by.index, by["mean"], color=colour, marker="o", label=name)
        axes.fill_between(by.index, by["min"], by["max"], color=colour, alpha=0.12, linewidth=0)
        positive = [(count, gap) for count, gap in zip(by.index, paper, strict=False) if gap > 0]
        axes.scatter(*zip(*positive, strict=True), color=colour, marker="x", zorder=3)
        default = lines.query("rule == 'default'")
        axes.scatter(default["nodes"], default["gap"], color=colour, marker="*", s=40, linewidth=0)
    axes.set(xscale="log", yscale="log", xlabel="points on the path", ylabel="mean |completeness gap|")
    axes.legend(frameon=False, title="right Riemann rule (× as printed in the paper)", loc="lower right")
    lowest = min(gaps["gap"])
    axes.annotate("★ gplens' default rule", (7.6, lowest / 30), color=INK)
    axes.set(xlim=(7, None), ylim=(lowest / 100, None))
    _without_frame(axes)
    return figure


def bars(attributions: pandas.DataFrame, level: float) -> Figure:
    """One bar with its interval for each feature, the first on top."""
    figure = Figure(figsize=(8, 3.8), layout="constrained")
    axes = figure.subplots()
    values, low, high = (attributions[name].to_numpy() for name in ("attribution", "low", "high"))
    colours = [RED if value > 0 else BLUE for value in values]
    axes.barh(attributions["feature"], values, color=colours, height=0.6, alpha=0.85)
    axes.errorbar(values, range(len(values)), xerr=[values - low, high - values], fmt="none", ecolor=INK, capsize=4)
    for place, value in enumerate(values):
        axes.annotate(f"{value:+.1f}" if value else "0", (1.01, place), xycoords=("axes fraction", "data"), va="center")
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.invert_yaxis()
    axes.set_xlabel(f"bikes per hour more than at the baseline, with {level:.0%} intervals")
    axes.set_yticks(range(len(values)), [name.replace("_", " ") for name in attributions["feature"]])
    _without_frame(axes)
    return figure


def panels(studies: list[ImageStudy], names: list[str], columns: int = 2) -> Figure:
    """For each image its heat map, the same without pixels that may have no effect, and its ablation."""
    rows = -(-len(studies) // columns)
    figure = Figure(figsize=(7.6 * columns, 2.35 * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, 3 * columns, squeeze=False, width_ratios=[1, 1, 1.5] * columns)
    for place in range(rows * columns):
        triple = list(grid[place // columns][3 * (place % columns) :][:3])
        if place < len(studies):
            _image(triple, studies[place], names)
        else:
            [axes.set_axis_off() for axes in triple]
    handles, labels = grid[0][2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _image(triple: list[Axes], image: ImageStudy, names: list[str]) -> None:
    heat, certain, curves = triple
    largest = float(np.quantile(image.values.abs().numpy()[image.values != 0], 0.99))
    colours = _colours(image.values.numpy() / largest)
    heat.imshow(colours)
    heat.set_title(f"{names[image.label]}: {image.probability:.2f}", fontsize=10, color=INK)
    contains_zero = ((image.low <= 0) & (image.high >= 0) & (image.values != 0)).numpy().reshape(colours.shape[:2])
    certain.imshow(np.where(contains_zero[..., None], PALE, colours))
    certain.set_title(f"sign certain at {LEVEL:.0%}", fontsize=10, color=INK)
    for axes in (heat, certain):
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color(GREY)
    _ablation(curves, image)


def _colours(values: np.ndarray) -> np.ndarray:
    """White at zero, red above, blue below, as a square image."""
    side = round(len(values) ** 0.5)
    strength = np.clip(np.abs(values), 0, 1)[:, None] ** 0.8
    full = np.where(values[:, None] > 0, (0.70, 0.06, 0.10), (0.05, 0.30, 0.62))
    return (1 - strength * (1 - full)).reshape(side, side, 3)


def _ablation(axes: Axes, image: ImageStudy) -> None:
    axes.axvline(image.sign_change, color=INK, linewidth=1, linestyle=":", label="sign change")
    axes.axhline(float(image.values.sum()), color=RED, linewidth=1, label="sum of attributions")
    axes.plot(image.counts, image.random, color=GREEN, label="random order")
    axes.plot(image.ordered, color=BLUE, label="order of attribution")
    axes.tick_params(labelsize=8)
    axes.set_title("probability lost", fontsize=10, color=INK, loc="left")
    _without_frame(axes)


def _without_frame(axes: Axes) -> None:
    """Hide the frame except for the two axes."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
