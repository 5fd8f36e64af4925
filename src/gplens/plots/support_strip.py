"""A strip that shows how far the data determine the model along the path."""

from typing import Any

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from gplens.display.wording import number
from gplens.plots.canvas import note, plain_frame, root_figure
from gplens.plots.colours import GREY, RAISES

ALONG = "from the baseline (t = 0) to the input (t = 1)"
"""The label of the axis of t."""
STRIP = 0.9
"""The height of a strip in a new figure, in inches."""


def strip_below(ax: Axes, *, sharex: Axes | None = None) -> Axes:
    """Axes below the given ones: a part of their place in the figure, or an inset below them."""
    place = ax.get_subplotspec()
    if place is None:
        return ax.inset_axes((0, -0.52, 1, 0.28), sharex=sharex)
    figure: Any = ax.figure
    gap = None if root_figure(ax).get_layout_engine() is not None else 0.7  # of the mean height of the two
    height = place.get_position(figure).height * root_figure(ax).get_size_inches()[1]
    grid = place.subgridspec(2, 1, height_ratios=[max(height - STRIP, STRIP), STRIP], hspace=gap)
    ax.set_subplotspec(grid[0])
    return figure.add_subplot(grid[1], sharex=sharex)


def draw_support(strip: Axes, support: Float[Tensor, " p"]) -> None:
    """The support at evenly spaced points, with a mark at its minimum."""
    t, least = torch.linspace(0, 1, len(support), dtype=support.dtype).numpy(), int(support.argmin())
    at, height = float(t[least]), float(support[least])
    strip.fill_between(t, 0, support.numpy(), color=GREY, alpha=0.4, linewidth=0)
    strip.plot(t, support.numpy(), color=GREY, linewidth=1.2)
    strip.plot(at, height, "o", color=RAISES, markersize=5, clip_on=False, zorder=4)
    strip.set(xlim=(-0.02, 1.02), ylim=(0, 1.05), yticks=[0, 0.5, 1], ylabel="support", xlabel=ALONG)
    text = f"least support {number(height, 2)} at t = {number(at, 2)}"
    note(strip, text, (0.5, 0), (0, 4), axes="both", align="center bottom")
    plain_frame(strip)
