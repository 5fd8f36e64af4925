"""The plot that suits what an explanation holds."""

import re
from math import isqrt

from matplotlib.axes import Axes

from gplens.display.marks import Attributions
from gplens.plots.bar import bar
from gplens.plots.beeswarm import beeswarm
from gplens.plots.image import image
from gplens.plots.uncertainty_plot import is_variance, uncertainty
from gplens.plots.waterfall import waterfall

PIXEL = re.compile(r"pixel\W?_?\d+(_\d+)*")
"""Names of the features of images: "pixel 12", "pixel_0_3"."""


def draw(explanation: Attributions, *, level: float = 0.9, unit: str = "", ax: Axes | None = None) -> Axes:
    """One input: `image` for pixels, `uncertainty` for a variance, else `waterfall`. Several: `beeswarm` or `bar`.

    Several inputs of one output make a `beeswarm`, those of several outputs a `bar` for each output.

    Args:
        explanation: the result of `gplens.explain`.
        level: the probability of the intervals.
        unit: the unit of the prediction, for the label of the axis.
        ax: the axes to draw on; those of a new figure if None.

    Returns:
        The axes; `ax.figure.savefig("picture.png")` writes a file.

    Raises:
        ValueError: as the plot that is chosen does.

    Example:
        >>> ax = gplens.plots.draw(explanation)
    """
    e, d = explanation, len(explanation.feature_names)
    if len(e.values) == 1:
        if isqrt(d) ** 2 == d and all(PIXEL.fullmatch(name) for name in e.feature_names):
            faded = e.spread is not None and e.spread.std is not None
            return image(e, fade=faded, unit=unit, ax=ax)
        if is_variance(e):
            return uncertainty(e, unit=unit, ax=ax)
        return waterfall(e, level=level, unit=unit, ax=ax)
    if e.output_names is None or len(e.output_names) == 1:
        return beeswarm(e, level=level, unit=unit, ax=ax)
    return bar(e, level=level, unit=unit, ax=ax)
