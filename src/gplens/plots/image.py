"""Attributions of pixels, drawn over the explained picture."""

from math import isqrt
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize

from gplens.display.marks import Array, Attributions, marks, of_output, output_of, row_of, titles
from gplens.plots.canvas import SMALL, axes_of, axis_label, root_figure, write_title
from gplens.plots.colours import GREY, SIGNED, signed_rgba

FULL = 0.99
"""The quantile of |attribution| from which pixels have the full colour."""
PICTURE = 0.2
"""The darkest grey of the picture behind the heat map; black is 1."""


def image(
    explanation: Attributions,
    *,
    shape: tuple[int, int] | None = None,
    row: int = 0,
    output: Any = None,
    fade: bool = False,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """A heat map of the attributions of one input's pixels, over the picture in light grey.

    Args:
        explanation: the result of `gplens.explain`, whose features are pixels, row by row.
        shape: height and width; a square if None.
        row: the position of the input.
        output: the position or name of an output; the one with the largest prediction if None.
        fade: whether pixels whose sign is uncertain fade: the opacity of a pixel is multiplied by
            P(|z| < |attribution| / sd) for a standard normal z, which is 0.68 at one deviation and 0.95 at two.
        unit: the unit of the prediction, for the label of the scale.
        ax: the axes to draw on; those of a new figure if None.

    Returns:
        The axes; `ax.figure.savefig("picture.png")` writes a file.

    Raises:
        ValueError: if the number of features is not the number of pixels of the shape.

    Example:
        >>> ax = gplens.plots.image(explanation, shape=(1, 2))
    """
    e, row = explanation, row_of(explanation, row)
    j, size = output_of(e, output, row), _shape(len(e.feature_names), shape)
    values = of_output(e.values, j)[row].numpy().reshape(size)
    ax = axes_of(ax, 4.6, 4.6 * min(max(size[0] / size[1], 0.4), 2.5) - 0.5)
    certainty = _certainty(e, j, row).reshape(size) if fade else None
    largest = heat_map(ax, values, e.inputs[row].numpy().reshape(size), certainty)
    scale = ScalarMappable(Normalize(-largest, largest), SIGNED)
    bar = root_figure(ax).colorbar(scale, ax=ax, fraction=0.046, pad=0.03)
    bar.set_label(axis_label("attribution", unit), fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    caption = "pale where the model is not sure of the sign" if fade else ""
    write_title(ax, *titles(e, j, row, caption))
    return ax


def heat_map(ax: Axes, values: Array, picture: Array | None = None, certainty: Array | None = None) -> float:
    """Pixels in two hues by sign, more opaque where larger, over a grey picture; returns the value with full colour.

    `certainty`, from 0 to 1, multiplies the opacity of each pixel.
    """
    sizes = np.abs(values)
    largest = float(np.quantile(sizes[sizes > 0], FULL)) if (sizes > 0).any() else 1.0
    alpha = np.clip(sizes / largest, 0, 1) ** 0.8
    if picture is not None:
        span = float(np.ptp(picture)) or 1.0
        ax.imshow(PICTURE * (picture - picture.min()) / span, cmap=_greys(), vmin=0, vmax=1, interpolation="nearest")
    ax.imshow(signed_rgba(values, alpha if certainty is None else alpha * certainty), interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color(GREY)
    return largest


def _greys() -> ListedColormap:
    """White at 0, black at 1, and opaque, so that the colour of the page does not matter."""
    return ListedColormap(np.linspace(1, 0, 256)[:, None].repeat(3, axis=1))


def _shape(pixels: int, shape: Any) -> tuple[int, int]:
    side = isqrt(pixels)
    size = (side, side) if shape is None else tuple(shape)
    if len(size) != 2 or size[0] * size[1] != pixels:
        raise ValueError(
            f"expected a shape (height, width) with {pixels} pixels, one for each feature, got {shape}; pass shape=."
        )
    return size[0], size[1]


def _certainty(e: Attributions, j: int | None, row: int) -> Array:
    """P(|z| < |a| / sd); 1 where the deviation is zero and the attribution is not."""
    shown = marks(e, j, [row], tuple([k] for k in range(len(e.feature_names))), 0.9)
    if shown.std is None:
        raise ValueError(
            "expected standard deviations for fade=True, got an explanation without; pass "
            "uncertainty=gplens.Diagonal() to gplens.explain."
        )
    values, std = torch.from_numpy(shown.values[0]).abs(), torch.from_numpy(shown.std[0])
    nonzero = (values > 0).double()
    return torch.where(std > 0, torch.erf(values / torch.where(std > 0, 2**0.5 * std, 1.0)), nonzero).numpy()
