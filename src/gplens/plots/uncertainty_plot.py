"""Attributions of a variance: the features that make the model uncertain."""

from typing import Any

from matplotlib.axes import Axes

from gplens.display.marks import Attributions, by_size, marks, of_output, output_of, row_of, split, titles
from gplens.display.wording import number
from gplens.plots.canvas import axes_of, axis_label, write_title
from gplens.plots.waterfall import draw_steps, step_labels

VARIANCES = ("EpistemicVariance()", "PredictiveVariance()")


def is_variance(e: Attributions) -> bool:
    """Whether a variance was explained."""
    return e.provenance.target.startswith(VARIANCES)


def uncertainty(
    explanation: Attributions,
    *,
    row: int = 0,
    output: Any = None,
    top: int = 12,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """One input: the features that make the model less or more certain than it is at the baseline.

    A variance is a property of the model's distribution, so its attributions have no error bars.

    Args:
        explanation: what `gplens.explain(..., target=gplens.targets.EpistemicVariance())` returned.
        row: the position of the input.
        output: the position or name of an output; the one with the largest variance if None.
        top: the most features with a bar each; the others are summed in one bar.
        unit: the unit of the variance, for the label of the axis.
        ax: the axes to draw on; those of a new figure if None.

    Returns:
        The axes; `ax.figure.savefig("picture.png")` writes a file.

    Raises:
        ValueError: if the explained target is not a variance.

    Example:
        >>> e = gplens.explain(gp, 1.3 * X[3:4], baseline=0.5, target=gplens.targets.EpistemicVariance())
        >>> ax = gplens.plots.uncertainty(e)
    """
    e, row = explanation, row_of(explanation, row)
    if not is_variance(e):
        raise ValueError(
            f"expected an explanation of a variance, got one of {e.provenance.target}; pass "
            "target=gplens.targets.EpistemicVariance() to gplens.explain."
        )
    j = output_of(e, output, row)
    shown = marks(e, j, [row], split(by_size(of_output(e.values, j)[row : row + 1]), top), 0.9)
    at_baseline, at_input = (float(of_output(part, j)[row]) for part in (e.baseline_prediction, e.prediction))
    ax = axes_of(ax, 7.2, 0.7 + 0.3 * (len(shown.names) + 2))
    labels = ["variance at the baseline", *step_labels(e, shown, row), "variance at the input"]
    draw_steps(ax, shown, at_baseline, at_input, labels=labels)
    ax.set_xlabel(f"← more sure     {axis_label('variance', unit)}     less sure →")
    deviations = f"sd {number(at_baseline**0.5)} at the baseline, {number(at_input**0.5)} at the input"
    title, subtitle = titles(e, j, row, deviations)
    write_title(ax, f"What makes the model unsure: {title}", subtitle)
    return ax
