"""The figures. Matplotlib's objects, without pyplot's global state."""

from collections.abc import Mapping

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, GREY = "#222222", "#9a9a9a"
RED, BLUE = "#c0392b", "#2b6ca3"
COLOURS = ("#3b6fb6", "#d1702e", "#4d9a53", "#8a5ba6", "#b5495b", "#7d6b4f")


def convergence(gaps: pandas.DataFrame, printed: Mapping[str, tuple[float, ...]]) -> Figure:
    """The gap against the number of points: ours, with the range over seeds, the paper's, and the default's."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    for colour, (name, paper) in zip(COLOURS, printed.items(), strict=True):
        own = gaps.query("row == @name")
        by = own.query("rule != 'default'").groupby("nodes")["gap"].agg(["mean", "min", "max"])
        axes.plot(by.index, by["mean"], color=colour, marker="o", label=name)
        axes.fill_between(by.index, by["min"], by["max"], color=colour, alpha=0.12, linewidth=0)
        seen = [(count, gap) for count, gap in zip(by.index, paper, strict=False) if gap > 0]
        axes.scatter(*zip(*seen, strict=True), color=colour, marker="x", zorder=3)
        default = own.query("rule == 'default'")
        axes.scatter(default["nodes"], default["gap"], color=colour, marker="*", s=40, linewidth=0)
    axes.set(xscale="log", yscale="log", xlabel="points on the path", ylabel="mean |completeness gap|")
    axes.legend(frameon=False, title="right Riemann rule (× as printed in the paper)", loc="lower right")
    lowest = min(gaps["gap"])
    axes.annotate("★ gplens' default rule", (7.6, lowest / 30), color=INK)
    axes.set(xlim=(7, None), ylim=(lowest / 100, None))
    plain(axes)
    return figure


def bars(attributions: pandas.DataFrame, level: float) -> Figure:
    """One bar for each feature, with its interval; the first on top."""
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
    axes.set_xlabel(f"bikes an hour more than at the baseline, with {level:.0%} intervals")
    axes.set_yticks(range(len(values)), [name.replace("_", " ") for name in attributions["feature"]])
    plain(axes)
    return figure


def plain(axes: Axes) -> None:
    """No frame but the two axes."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
