"""Wrappers of a Gaussian process: pipelines, parameter searches, transformed targets."""

from dataclasses import dataclass
from typing import Any, final

from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from gplens.adapters.sklearn.compositions import active

Wrapper = Pipeline | BaseSearchCV | TransformedTargetRegressor


@final
@dataclass(frozen=True)
class Unwrapped:
    """The parts of a wrapped model, in the order in which a prediction passes them."""

    steps: tuple[Any, ...]
    """Fitted transformers."""
    last: Any
    """The model itself."""
    outcomes: tuple[Any, ...]
    """Fitted transformers of the target, the outermost first, whose inverses a prediction passes last to first."""
    names: tuple[str, ...]
    """Names of the classes around the model."""

    def same_objects(self, other: "Unwrapped") -> bool:
        """Whether all parts are the same objects."""
        ours, theirs = ([*parts.steps, parts.last, *parts.outcomes] for parts in (self, other))
        return [id(part) for part in ours] == [id(part) for part in theirs]


def unwrap(model: Any) -> Unwrapped:
    """Take a model out of all its wrappers."""
    steps, outcomes, names = [], [], []
    while isinstance(model, Wrapper):
        names.append(type(model).__name__)
        if isinstance(model, Pipeline):
            inner = active(model.steps)
            steps += inner[:-1]
            model = inner[-1]
        elif isinstance(model, BaseSearchCV):
            model = _best(model)
        else:
            check_is_fitted(model)
            outcomes.append(model.transformer_)
            model = model.regressor_
    return Unwrapped(tuple(steps), model, tuple(outcomes), tuple(names))


def _best(search: Any) -> Any:
    """The estimator that a search fitted to all rows in the end."""
    if not hasattr(search, "best_estimator_"):
        name = type(search).__name__
        got = "refit=False, which keeps no fitted model" if not search.refit else "one that is not fitted"
        raise ValueError(f"expected a {name} with a best_estimator_, got {got}; call fit(X, y) with refit=True.")
    return search.best_estimator_
