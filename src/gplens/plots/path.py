"""The prediction along the path from the baseline to the input, and how far the data support it."""

from typing import Any

import torch
from matplotlib.axes import Axes

from gplens.display.marks import Attributions, check_level, output_of, row_of, titles
from gplens.display.wording import number
from gplens.plots.canvas import SMALL, axes_of, axis_label, note, plain_frame, separate_thousands, write_title
from gplens.plots.colours import LOWERS, ink
from gplens.plots.explained import Course, Explained
from gplens.plots.support_strip import ALONG, draw_support, strip_below
from gplens.targets import Target

NODES = 129
"""The number of points of the path."""


def path(
    explanation: Attributions,
    model: Any,
    *,
    row: int = 0,
    output: Any = None,
    likelihood: Any = None,
    target: Target | None = None,
    contrast: tuple[str, str] | None = None,
    level: float = 0.9,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """The prediction from the baseline (t = 0) to the input (t = 1) with its band, and below it the support.

    The band is the central interval of the response given the latent function, g(f), and so without the noise of
    observations. The support is 1 - v/k: where it is small, predictions and attributions are those of the
    prior.

    Args:
        explanation: the result of `gplens.explain`, with a single baseline for each input.
        model: the model that was explained, or gplens.read(model).
        row: the position of the input.
        output: the position or name of an output; the one with the largest prediction if None.
        likelihood: as it was passed to `explain`.
        target: as it was passed to `explain`.
        contrast: the two outputs of `explanation.contrast(a, b)`, by name, if the explanation is a contrast.
        level: the probability of the band.
        unit: the unit of the prediction, for the label of the axis.
        ax: the axes to draw on; those of a new figure if None.

    Returns:
        The axes; `ax.figure.savefig("picture.png")` writes a file.

    Raises:
        ValueError: if the baseline is a background, or the predictions of the model are not the explained ones.

    Example:
        >>> ax = gplens.plots.path(explanation, gp, likelihood=gplens.links.Identity())
    """
    e, row, level = explanation, row_of(explanation, row), check_level(level)
    if e.background:
        raise ValueError(
            f"expected a single baseline for a path, got {e.provenance.baseline}, which has many paths; explain with "
            "one row of it as the baseline."
        )
    j = output_of(e, output, row)
    explained = Explained.of(e, model, j, likelihood=likelihood, target=target, contrast=contrast)
    t = torch.linspace(0, 1, NODES, dtype=e.inputs.dtype)
    course = explained.along(e.baseline[row], e.inputs[row], t, level)
    ax = axes_of(ax, 6.4, 4.2 if course.support is not None else 3.2)
    _draw_prediction(ax, course)
    ax.set_ylabel(axis_label("prediction", unit))
    if course.support is None:
        ax.set_xlabel(ALONG)
    else:
        ax.tick_params(labelbottom=False)
        draw_support(strip_below(ax, sharex=ax), course.support)
    band = "no band is known for this target" if course.band is None else f"{100 * level:g} % band"
    write_title(ax, *titles(e, j, row, band))
    return ax


def _draw_prediction(ax: Axes, course: Course) -> None:
    t, value = course.t.numpy(), course.value.numpy()
    if course.band is not None:
        low, high = (part.numpy() for part in course.band)
        ax.fill_between(t, low, high, color=LOWERS, alpha=0.2, linewidth=0).set_gid("band")
    ax.plot(t, value, color=LOWERS, linewidth=2)
    for at, beside, side in ((0, 8, "left"), (-1, -9, "right")):
        ax.plot(t[at], value[at], "o", color=ink(), markersize=5, zorder=4)
        below = value[beside] > value[at]  # so that the text is beside the curve
        align, offset = (f"{side} top", -6) if below else (f"{side} bottom", 6)
        text, place = number(float(value[at])), (float(t[at]), float(value[at]))
        note(ax, text, place, (5 if at == 0 else -5, offset), align=align, size=SMALL + 0.5)
    ax.set_xlim(-0.02, 1.02)
    ax.margins(y=0.12)
    plain_frame(ax)
    separate_thousands(ax.yaxis)
