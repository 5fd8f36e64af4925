"""Figures of the experiments that are made of several plots, or show what no plot of gplens.plots does."""

from collections.abc import Mapping

import pandas
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gplens.experiments.study import LEVEL, ImageStudy
from gplens.plots.canvas import plain_frame
from gplens.plots.colours import ink
from gplens.plots.image import heat_map
from gplens.plots.removal import Removal, curves

COLOURS = ("#3b6fb6", "#d1702e", "#4d9a53", "#8a5ba6", "#b5495b", "#7d6b4f")


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
    axes.annotate("★ gplens' default rule", (7.6, lowest / 30), color=ink())
    axes.set(xlim=(7, None), ylim=(lowest / 100, None))
    plain_frame(axes)
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
    heat, certain, curves_of_image = triple
    side = round(len(image.values) ** 0.5)
    values = image.values.numpy().reshape(side, side)
    heat_map(heat, values)
    heat.set_title(f"{names[image.label]}: {image.probability:.2f}", fontsize=10)
    contains_zero = ((image.low <= 0) & (image.high >= 0) & (image.values != 0)).double().numpy().reshape(side, side)
    heat_map(certain, values, contains_zero, 1 - contains_zero)
    certain.set_title(f"sign certain at {LEVEL:.0%}", fontsize=10)
    ordered = torch.arange(len(image.ordered)), image.ordered
    total = float(image.values.sum())
    curves(curves_of_image, Removal(*ordered, image.counts, image.random[None], total, float(image.sign_change)))
    curves_of_image.tick_params(labelsize=8)
    curves_of_image.set_title("probability lost", fontsize=10, loc="left")
