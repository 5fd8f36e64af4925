"""shap's `explainer(X)` call, with the exact attributions of a Gaussian process behind it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, final

from gplens.baselines import as_baseline
from gplens.explain import explain
from gplens.rules import Rule
from gplens.targets import Target
from gplens.uncertainty import Uncertainty

if TYPE_CHECKING:
    import shap


@final
class Explainer:
    """`explainer = Explainer(model, baseline=...)`, then `shap.plots.beeswarm(explainer(X))`.

    The options are those of gplens.explain. `level` is the probability of the bounds, which uncertainty= gives.
    """

    def __init__(
        self,
        model: Any,
        *,
        baseline: Any,
        likelihood: Any = None,
        target: Target | None = None,
        outputs: SupportsIndex | str | Sequence[SupportsIndex | str] | None = None,
        rule: Rule | None = None,
        tolerance: float | None = None,
        uncertainty: Uncertainty | None = None,
        feature_names: Sequence[str] | None = None,
        level: float = 0.9,
    ) -> None:
        self.model, self.baseline, self.likelihood, self.target = model, as_baseline(baseline), likelihood, target
        self.outputs, self.rule, self.tolerance, self.uncertainty = outputs, rule, tolerance, uncertainty
        self.feature_names, self.level = feature_names, level

    def __call__(self, X: Any) -> "shap.Explanation":
        """The attributions of a table of inputs, as a shap.Explanation."""
        explanation = explain(
            self.model,
            X,
            baseline=self.baseline,
            likelihood=self.likelihood,
            target=self.target,
            outputs=self.outputs,
            rule=self.rule,
            tolerance=self.tolerance,
            uncertainty=self.uncertainty,
            feature_names=self.feature_names,
        )
        return explanation.to_shap(level=self.level)
