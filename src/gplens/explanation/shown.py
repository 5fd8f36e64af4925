"""The forms of an explanation: text, a table in a notebook, a picture, frames and files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import shap
    from matplotlib.axes import Axes


class Shown:
    """The methods of `Explanation` that show and export it. Each form is a module, which is imported on first use."""

    def plot(self: Any, *, level: float = 0.9, unit: str = "", ax: "Axes | None" = None) -> "Axes":
        """Draw the explanation with the plot of `gplens.plots` that fits it; the plots there have more options.

        One input is drawn as a waterfall (pixels as a heat map, a variance by `uncertainty`), several as a beeswarm, or
        as bars if there are several outputs. A notebook shows the axes that are returned.

        Args:
            level: the probability of the intervals, if the explanation has any.
            unit: the unit of the prediction, for the axis.
            ax: the Matplotlib axes to draw on; a new figure if None.
        """
        from gplens.plots import draw

        return draw(self, level=level, unit=unit, ax=ax)

    def to_page(
        self: Any,
        path: str | Path,
        *,
        model: Any = None,
        likelihood: Any = None,
        data: Any = None,
        targets: Any = None,
        title: str | None = None,
        level: float = 0.9,
    ) -> Path:
        """Write one HTML file with a report and, for many models, a live what-if; it needs no server and no network.

        `model` is the explained model, `data` a table whose ranges and histograms are shown behind the sliders, and
        `targets` its observations. `gplens.page.write` has all options, and docs/PAGE.md describes the page.
        """
        from gplens.page import write

        about = {"model": model, "likelihood": likelihood, "data": data, "targets": targets}
        return write(self, path, **about, title=title, level=level)

    def __repr__(self: Any) -> str:
        from gplens.explanation.text import describe

        return describe(self)

    def _repr_html_(self: Any) -> str:
        from gplens.explanation.html import describe_html

        return describe_html(self)

    def to_frame(self: Any, *, level: float = 0.9) -> Any:
        """A frame with a row for each input, output and feature, of the same library as the input frame, or of pandas.

        If the posterior of the attributions is known, `lower` and `upper` are the ends of the central interval of
        probability `level`, and `probability_positive` is the probability of an attribution above zero.
        """
        from gplens.explanation.export import to_frame

        return to_frame(self, level)

    def to_shap(self: Any, *, level: float = 0.9) -> "shap.Explanation":
        """A shap.Explanation for shap's plots: values, base values, data and names.

        With draws or Gaussian error bars, also the bounds of the central interval of posterior probability `level`.
        """
        from gplens.explanation.export import to_shap

        return to_shap(self, level)

    def save(self: Any, path: str | Path) -> None:
        """Write to one file (safetensors with a readable JSON header), atomically."""
        from gplens.explanation.files import save

        save(self, Path(path))
