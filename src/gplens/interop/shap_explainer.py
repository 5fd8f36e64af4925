"""shap's explainer, as its users call it, with the exact attributions of a Gaussian process behind it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, final

import numpy as np
import torch
from numpy.typing import NDArray

from gplens.adapters.reading import Reading, read
from gplens.baselines import Baseline, Sample, as_baseline
from gplens.explain import explain
from gplens.explanation.export import outputs_last
from gplens.explanation.result import Explanation
from gplens.rules import GaussLegendre, Rule
from gplens.targets import Target
from gplens.uncertainty import Uncertainty

if TYPE_CHECKING:
    import shap
    from matplotlib.axes import Axes


@final
class Explainer:
    """`explainer = Explainer(model, background)`, then `explainer(X)` or `explainer.shap_values(X)`.

    Args:
        model: what gplens.explain takes.
        background: a table of several rows, over which attributions are averaged, as in shap.
        masker: the same as a `shap.maskers.Independent`, or a table.
        baseline: what gplens.explain takes, in the place of a background.
        likelihood, target, outputs, rule, tolerance, uncertainty, feature_names: those of gplens.explain.
        level: the probability of the bounds, which uncertainty= gives.

    Raises:
        ValueError: if more than one of `background`, `masker` and `baseline` is given.

    Example:
        >>> from gplens.shap import Explainer
        >>> explainer = Explainer(gp, X, likelihood=gplens.links.Identity())
        >>> explainer.shap_values(X[:2]).shape
        (2, 2)
    """

    def __init__(
        self,
        model: Any,
        background: Any = None,
        *,
        masker: Any = None,
        baseline: Any = None,
        likelihood: Any = None,
        target: Target | None = None,
        outputs: SupportsIndex | str | Sequence[SupportsIndex | str] | None = None,
        rule: Rule | None = None,
        tolerance: float | None = None,
        uncertainty: Uncertainty | bool | None = None,
        feature_names: Sequence[str] | None = None,
        level: float = 0.9,
    ) -> None:
        named = {"background": background, "masker": masker, "baseline": baseline}
        given = [name for name, value in named.items() if value is not None]
        if len(given) > 1:
            raise ValueError(f"expected one of background, masker and baseline, got {' and '.join(given)}.")
        table = background if masker is None else masker
        self.baseline = as_baseline(baseline) if table is None else _background(table)
        self.model, self.likelihood, self.target, self.outputs = model, likelihood, target, outputs
        self.rule, self.tolerance, self.uncertainty = rule, tolerance, uncertainty
        self.feature_names, self.level = feature_names, level

    def __call__(self, X: Any) -> "shap.Explanation":
        """The attributions of a table of inputs, as a shap.Explanation."""
        return self.explain(X).to_shap(level=self.level)

    def shap_values(self, X: Any) -> NDArray[np.float64]:
        """The attributions as an array: (rows, features), or (rows, features, outputs) for several outputs.

        Args:
            X: a table of inputs.

        Example:
            >>> gplens.shap.Explainer(gp, X, likelihood=gplens.links.Identity()).shap_values(X).shape
            (5, 2)
        """
        return outputs_last(self.explain(X).values)

    @property
    def expected_value(self) -> Any:
        """The prediction at the baseline: a number, or an array with a number for each output.

        Raises:
            ValueError: if the baseline differs from row to row; use `explainer(X).base_values` then.
        """
        explanation = self._explain(self._any_row(), GaussLegendre(1))
        starts = explanation.baseline_prediction[0]
        return float(starts) if starts.ndim == 0 else starts.numpy()

    def explain(self, X: Any) -> Explanation:
        """The attributions as an Explanation of gplens, for gplens.plots, error bars, groups and contrasts.

        Args:
            X: a table of inputs.

        Example:
            >>> gplens.shap.Explainer(gp, X, likelihood=gplens.links.Identity()).explain(X[:1]).values.shape
            torch.Size([1, 2])
        """
        return self._explain(X, self.rule, self.uncertainty)

    def _explain(self, X: Any, rule: Rule | None, uncertainty: Uncertainty | bool | None = None) -> Explanation:
        return explain(
            self.model,
            X,
            baseline=self.baseline,
            likelihood=self.likelihood,
            target=self.target,
            outputs=self.outputs,
            rule=rule,
            tolerance=self.tolerance,
            uncertainty=uncertainty,
            feature_names=self.feature_names,
        )

    def _any_row(self) -> Any:
        """Any input of the model, to compute results that depend on the baseline alone."""
        if isinstance(self.baseline, Sample):
            return self.baseline.given.raw[:1]
        reading = self.model if isinstance(self.model, Reading) else read(self.model, self.likelihood)
        row = torch.zeros(1, reading.process.features, dtype=torch.float64)
        try:
            self.baseline.rows(row)
        except ValueError as cause:
            raise ValueError(
                f"expected a baseline that all rows share for expected_value, got {self.baseline!r}; use "
                "explainer(X).base_values, which has the base value of every row."
            ) from cause
        return row


def _background(table: Any) -> Baseline:
    """The rows of a table, of a shap.maskers.Independent, or of the result of shap.kmeans."""
    if isinstance(table, Baseline):
        return table
    kind, module = type(table).__name__, type(table).__module__.partition(".")[0]
    if module != "shap":
        return as_baseline(table) if np.ndim(table) < 2 else Sample(table)
    weights = getattr(table, "weights", None)
    if kind not in ("Independent", "DenseData") or (weights is not None and np.ptp(weights) > 0):
        raise TypeError(
            "expected a table, shap.sample(X, 100) or shap.maskers.Independent(X) as the background, got shap's "
            f"{kind}{'' if weights is None else ' with different weights'}, which is not an average over equal rows."
        )
    return Sample(table.data)


def relabel(ax: "Axes", *, unit: str = "") -> "Axes":
    """Rename the axis of a shap plot, since Integrated Gradients are not Shapley values.

    `gplens.shap.relabel(shap.plots.beeswarm(explainer(X), show=False), unit="bikes")`.

    Args:
        ax: the axes that a plot of shap returned.
        unit: the unit of the prediction.

    Returns:
        The same axes.

    Raises:
        AttributeError: `ax` is no axes of Matplotlib; pass show=False to the plot of shap, which then returns them.

    Example:
        >>> from matplotlib.figure import Figure
        >>> from gplens.shap import relabel
        >>> "integrated gradient" in relabel(Figure().add_subplot(), unit="bikes").get_xlabel().lower()
        False
    """
    for axis in (ax.xaxis, ax.yaxis):
        label = axis.get_label_text()
        if "SHAP value" in label:
            plain = label.replace(" (impact on model output)", "").replace("SHAP value", "attribution")
            axis.set_label_text(f"{plain} ({unit})" if unit else plain)
    return ax
