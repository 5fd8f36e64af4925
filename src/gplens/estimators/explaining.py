"""The explanations of estimators."""

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from gplens.adapters.estimators import FittedEstimator
from gplens.baselines import Inputs
from gplens.baselines.given import check_keyword
from gplens.estimators.training_tables import read_rows
from gplens.explain import explain
from gplens.explanation import Explanation
from gplens.rules import Rule
from gplens.targets import Target
from gplens.uncertainty import Uncertainty


class Explaining(FittedEstimator):
    """The methods of an estimator that explain its predictions."""

    background_: Inputs | None
    """The default baseline: representative training rows with their weights. None for a model that was loaded from a
    folder of an older version."""

    def explain(
        self,
        X: Any,
        *positional: Any,
        baseline: Any = None,
        target: Target | None = None,
        outputs: Any = None,
        rule: Rule | None = None,
        tolerance: float | None = None,
        uncertainty: Uncertainty | bool | None = None,
        support: bool | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        progress: bool | None = None,
    ) -> Explanation:
        """`gplens.explain` of this model, in the units and with the column names of the table that it was fitted to.

        Args:
            X: the rows to explain, with the columns of the table that the model was fitted to.
            positional: refused; everything after X has a name.
            baseline: as in `gplens.explain`; if None `background_`, a few representative training rows.
            outputs: of a classifier, labels, names or positions of classes; all if None.
            target, rule, tolerance, uncertainty, support, groups, progress: those of `gplens.explain`.

        Raises:
            NotFittedError: before `fit`.
            TypeError, ValueError: as `gplens.explain`.

        Example:
            >>> model = GPRegressor.load(saved)
            >>> model.explain(frame[:2], uncertainty=True).std.shape
            torch.Size([2, 2])
        """
        check_keyword(positional)
        fitted: Any = self  # a scikit-learn estimator
        check_is_fitted(fitted)
        read_rows(fitted, X, reset=False)
        names, positions = getattr(self, "feature_names_in_", None), self._positions(outputs)
        return explain(
            self,
            X,
            baseline=baseline,
            target=target,
            outputs=positions,
            rule=rule,
            tolerance=tolerance,
            uncertainty=uncertainty,
            support=support,
            groups=groups,
            feature_names=None if names is None else names.tolist(),
            progress=progress,
        )

    def _positions(self, outputs: Any) -> Any:
        """The outputs that the user asks for, as `gplens.explain` takes them."""
        return outputs

    @property
    def default_baseline(self) -> Inputs | None:
        """What `gplens.explain` takes for a baseline if none is given."""
        return getattr(self, "background_", None)
