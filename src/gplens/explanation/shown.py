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

        Example:
            >>> explanation[0].plot(unit="litres").get_xlabel()
            'prediction (litres)'
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

        `gplens.page.write` has all options, and docs/PAGE.md describes the page.

        Args:
            path: the file to write; one that exists is replaced.
            model, likelihood: those that were explained, for the what-if.
            data: a table whose ranges and histograms stand behind the sliders.
            targets: what was observed, one for each input.
            title: of the page.
            level: the probability of the intervals.

        Example:
            >>> from pathlib import Path
            >>> link = gplens.links.Identity()
            >>> page = explanation.to_page(Path(tempfile.mkdtemp()) / "page.html", model=gp, likelihood=link, data=X)
            >>> page.read_text()[:15].lower()
            '<!doctype html>'
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

        Example:
            >>> explanation.to_frame().shape[0]  # two inputs with two features each
            4
        """
        from gplens.explanation.export import to_frame

        return to_frame(self, level)

    def to_shap(self: Any, *, level: float = 0.9) -> "shap.Explanation":
        """A shap.Explanation for shap's plots: values, base values, data and names.

        With draws or Gaussian error bars, also the bounds of the central interval of posterior probability `level`.

        Raises:
            ImportError: if shap is not installed.

        Example:
            >>> explanation.to_shap().values.shape
            (2, 2)
        """
        from gplens.explanation.export import to_shap

        return to_shap(self, level)

    def save(self: Any, path: str | Path) -> None:
        """Write to one file (safetensors with a readable JSON header), atomically.

        Args:
            path: the file to write; one that exists is replaced.

        Example:
            >>> from pathlib import Path
            >>> file = Path(tempfile.mkdtemp()) / "january.gplens"
            >>> explanation.save(file)
            >>> bool((gplens.Explanation.load(file).values == explanation.values).all())
            True
        """
        from gplens.explanation.files import save

        save(self, Path(path))
