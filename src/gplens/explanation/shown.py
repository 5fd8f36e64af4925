"""What becomes of an explanation: its text, its table in a notebook, its picture, frames and files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import shap
    from matplotlib.axes import Axes


class Shown:
    """The part of `Explanation` that people look at and pass on. Each form has a file of its own, loaded when used."""

    def plot(self: Any, *, level: float = 0.9, unit: str = "", ax: "Axes | None" = None) -> "Axes":
        """A picture of what the explanation holds: one of `gplens.plots`, which has more of them, with more options.

        One input is drawn as a waterfall (pixels as a heat map, a variance by `uncertainty`), several as a beeswarm, or
        as bars if there are several outputs. A notebook shows the axes that are returned.

        Args:
            level: the probability of the intervals, where the explanation has any.
            unit: of the prediction, for the axis.
            ax: Matplotlib's axes to draw on; those of a new figure if None.
        """
        from gplens.plots import draw

        return draw(self, level=level, unit=unit, ax=ax)

    def __repr__(self: Any) -> str:
        from gplens.explanation.text import describe

        return describe(self)

    def _repr_html_(self: Any) -> str:
        from gplens.explanation.html import describe_html

        return describe_html(self)

    def to_frame(self: Any) -> Any:
        """A frame with a row for each input, output and feature, of the library of the inputs' frame, or of pandas."""
        from gplens.explanation.export import to_frame

        return to_frame(self)

    def to_shap(self: Any, *, level: float = 0.9) -> "shap.Explanation":
        """For shap's plots: values, base values, data and names.

        With draws or Gaussian error bars also the bounds of the central interval of posterior probability `level`.
        """
        from gplens.explanation.export import to_shap

        return to_shap(self, level)

    def save(self: Any, path: str | Path) -> None:
        """Write to one file (safetensors with a readable JSON header), atomically."""
        from gplens.explanation.files import save

        save(self, Path(path))
