"""Heat maps and ablation curves of images."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gplens.experiments.plots import BLUE, GREY, INK, plain
from gplens.experiments.study import LEVEL, Shown

PALE = 0.88
"""The grey of pixels whose sign the model is not sure of."""
GREEN, RED = "#3f8f4f", "#c0392b"


def panels(shown: list[Shown], names: list[str], columns: int = 2) -> Figure:
    """For each image its heat map, the same without what is not distinguishable from zero, and its ablation."""
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(7.6 * columns, 2.35 * rows + 0.5), layout="constrained")
    grid = figure.subplots(rows, 3 * columns, squeeze=False, width_ratios=[1, 1, 1.5] * columns)
    for place in range(rows * columns):
        own = list(grid[place // columns][3 * (place % columns) :][:3])
        if place < len(shown):
            _image(own, shown[place], names)
        else:
            [axes.set_axis_off() for axes in own]
    handles, labels = grid[0][2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _image(own: list[Axes], one: Shown, names: list[str]) -> None:
    heat, sure, curves = own
    largest = float(np.quantile(one.values.abs().numpy()[one.values != 0], 0.99))
    colours = _colours(one.values.numpy() / largest)
    heat.imshow(colours)
    heat.set_title(f"{names[one.label]}: {one.probability:.2f}", fontsize=10, color=INK)
    unsure = ((one.low <= 0) & (one.high >= 0) & (one.values != 0)).numpy().reshape(colours.shape[:2])
    sure.imshow(np.where(unsure[..., None], PALE, colours))
    sure.set_title(f"sure at {LEVEL:.0%}", fontsize=10, color=INK)
    for axes in (heat, sure):
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color(GREY)
    _ablation(curves, one)


def _colours(values: np.ndarray) -> np.ndarray:
    """White at zero, red above, blue below, for a square image."""
    side = round(len(values) ** 0.5)
    strength = np.clip(np.abs(values), 0, 1)[:, None] ** 0.8
    full = np.where(values[:, None] > 0, (0.70, 0.06, 0.10), (0.05, 0.30, 0.62))
    return (1 - strength * (1 - full)).reshape(side, side, 3)


def _ablation(axes: Axes, one: Shown) -> None:
    axes.axvline(one.sign_change, color=INK, linewidth=1, linestyle=":", label="sign change")
    axes.axhline(float(one.values.sum()), color=RED, linewidth=1, label="sum of attributions")
    axes.plot(one.counts, one.random, color=GREEN, label="random order")
    axes.plot(one.ordered, color=BLUE, label="order of attribution")
    axes.tick_params(labelsize=8)
    axes.set_title("probability lost", fontsize=10, color=INK, loc="left")
    plain(axes)
