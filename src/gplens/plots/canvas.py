"""Axes without pyplot's global state, and what all plots draw on them: titles, frames, whiskers."""

from io import BytesIO
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from gplens.plots.colours import GREY, ink

SMALL = 8.5
"""The size of explanatory texts, in points."""
TITLE = 10.5
"""The size of a title, in points."""
CHARACTER, SMALLER = 0.080, 0.066
"""The mean widths of characters of a title and of a subtitle, in inches."""


class ShownAxes(Axes):
    """Axes that a notebook shows as a picture, although their figure is not registered with pyplot."""

    def _repr_png_(self) -> bytes:
        """The figure as a PNG, for IPython."""
        content = BytesIO()
        root_figure(self).savefig(content, format="png", dpi=110)
        return content.getvalue()


def plain(text: str) -> str:
    """A text in which a dollar sign does not begin a formula."""
    return text.replace("$", r"\$")


def root_figure(ax: Axes) -> Figure:
    """The figure of axes, also of those in a subfigure."""
    figure: Any = ax.figure
    return figure.figure


def axes_of(ax: Axes | None, width: float, height: float) -> Axes:
    """The given axes, or those of a new figure of a size in inches, to which a title adds its height."""
    if ax is not None:
        return ax
    return Figure(figsize=(width, height), layout="constrained").add_subplot(axes_class=ShownAxes)


def write_title(ax: Axes, title: str, subtitle: str) -> None:
    """The explained target as a title, and a smaller subtitle with the baseline and the kind of whiskers.

    In a new figure they begin at its left edge, and add to its height.
    """
    named = title[1:2].isupper()  # as qLogExpectedImprovement is
    title, figure = title if named else title[:1].upper() + title[1:], root_figure(ax)
    width, height = figure.get_size_inches()
    inches = width - 0.2 if isinstance(ax, ShownAxes) else width * ax.get_position().width
    lines = wrap(title, max(20, int(inches / CHARACTER))), wrap(subtitle, max(24, int(inches / SMALLER)))
    heading, small = ("\n".join(part) for part in lines)
    if not isinstance(ax, ShownAxes):
        ax.set_title(plain(heading), loc="left", pad=8 + 11 * len(lines[1]), fontsize=TITLE)
        note(ax, small, (0, 1), (0, 5), axes="both", colour=GREY).set_gid("subtitle")
        return
    above, below = 0.07 + 0.19 * len(lines[0]), 0.16 * len(lines[1]) + 0.08
    taller = height + above + below
    figure.set_figheight(taller)
    figure.text(0.1 / width, 1 - 0.07 / taller, plain(heading), va="top", fontsize=TITLE, gid="title")
    place = 0.1 / width, 1 - above / taller
    figure.text(*place, plain(small), va="top", fontsize=SMALL, color=GREY, gid="subtitle")
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0, 0, 1, height / taller))


def note(
    ax: Axes,
    text: str,
    at: tuple[Any, Any],
    offset: tuple[Any, Any],
    *,
    axes: str = "",
    align: str = "left bottom",
    colour: str | None = None,
    size: float = SMALL,
) -> Annotation:
    """A text at an offset in points from a place in data, or fractions of the axes if `axes` is "x", "y" or "both"."""
    x, y = ("axes fraction" if axes in (name, "both") else "data" for name in "xy")
    horizontal, vertical = align.split()
    return ax.annotate(
        plain(text),
        at,
        offset,
        xycoords=(x, y),
        textcoords="offset points",
        ha=horizontal,
        va=vertical,
        color=colour or ink(),
        fontsize=size,
        annotation_clip=False,
    )


def plain_frame(ax: Axes, *, left: bool = True) -> None:
    """Without the sides of the frame that have no numbers."""
    ax.spines[["top", "right"]].set_visible(False)
    if not left:
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)


def separate_thousands(axis: Axis) -> None:
    """Write 20,000 rather than 20000, or 2 with 1e4 beside the axis, if numbers are large and far enough apart."""
    low, high = axis.get_view_interval()
    if max(abs(low), abs(high)) >= 10_000 and high - low >= 100:
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}".replace("-", "−"))
        axis.set_major_locator(MaxNLocator(5))


def rows_of_features(ax: Axes, labels: list[str]) -> None:
    """A row for each feature, the first on top."""
    ax.set_yticks(range(len(labels)), [plain(label) for label in labels])
    ax.set_ylim(len(labels) - 0.4, -0.6)
    plain_frame(ax, left=False)


def whiskers(ax: Axes, y: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    """Horizontal intervals with caps. Intervals that are NaN or have no length are not drawn."""
    drawn = np.isfinite(low) & np.isfinite(high) & (high > low)
    if not drawn.any():
        return
    ends = ax.hlines(y[drawn], low[drawn], high[drawn], color=ink(), linewidth=1.2, zorder=4)
    ends.set_gid("whiskers")
    for side in (low, high):
        ax.plot(side[drawn], y[drawn], "|", color=ink(), markersize=7, markeredgewidth=1.2, zorder=4)


def column_of_texts(ax: Axes, y: NDArray[np.float64], texts: list[str]) -> None:
    """Texts to the right of the axes, one in each row."""
    for place, text in zip(y, texts, strict=True):
        note(ax, text, (1, place), (6, 0), axes="x", align="left center", size=SMALL + 0.5)


def axis_label(what: str, unit: str) -> str:
    """attribution (bikes)."""
    return plain(f"{what} ({unit})" if unit else what)
