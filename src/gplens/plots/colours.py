"""Two hues that colour-blind readers can distinguish, and the scales between them."""

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from numpy.typing import NDArray

RAISES, LOWERS = "#d55e00", "#0072b2"
"""For attributions that raise and lower the target. Vermilion and blue of the palette of Okabe and Ito, which
deuteranopes, protanopes and tritanopes can distinguish; in grey their lightness (L*) is 54 and 46."""
CLASSES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
"""For outputs side by side; of the same palette."""
GREY = "#8c8c8c"
LOW_TO_HIGH = LinearSegmentedColormap.from_list("gplens low to high", ["#0072b2", "#a9a9a9", "#d55e00"])
"""From the smallest to the largest value of a feature. The middle is grey, and dark enough for a white page."""
SIGNED = LinearSegmentedColormap.from_list("gplens signed", [LOWERS, "#f7f7f7", RAISES])
"""From attributions below zero to attributions above zero."""


def ink() -> str:
    """The colour of texts in the current style, so that marks are visible on light and dark pages."""
    return matplotlib.rcParams["text.color"]


def of_sign(value: float) -> str:
    """The colour of an attribution."""
    return GREY if value == 0 else RAISES if value > 0 else LOWERS


def signed_rgba(values: NDArray[np.float64], alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """The two hues by the sign of each value, with an opacity from 0 to 1 each."""
    hues = np.where(values[..., None] > 0, to_rgb(RAISES), to_rgb(LOWERS))
    return np.concatenate([hues, alpha[..., None]], axis=-1)
