"""An estimator as a table in HTML: its parameters, how the fit went, and how many lengthscales its data span."""

from typing import Any

from gplens.display.card import card
from gplens.display.wording import elided, number
from gplens.processes.posterior import Posterior
from gplens.processes.posterior_card import facts, relevance

LONGEST = 100
"""Characters of the longest value that is shown."""


class Displayed:
    """The table of an estimator in a notebook."""

    def _repr_html_(self) -> str:
        return describe_html(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """IPython calls this first; without it, scikit-learn's diagram would be shown instead of the table."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def describe_html(estimator: Any) -> str:
    """The table of an estimator, fitted or not."""
    name, written = type(estimator).__name__, " ".join(repr(estimator).split())
    if not hasattr(estimator, "posterior_"):
        return card(f"{name}, not fitted", [("parameters", elided(written, LONGEST))], [])
    d, process = estimator.n_features_in_, estimator.posterior_
    encoder = estimator.encoder  # of columns that are several inputs of the model each
    names = (
        getattr(estimator, "feature_names_in_", [f"feature {k}" for k in range(d)])
        if encoder is None
        else encoder.inputs
    )
    found = [("parameters", elided(written, LONGEST)), ("features", f"{d:,}")]
    if estimator.class_names is not None:
        found.append(("classes", elided(", ".join(estimator.class_names), LONGEST)))
    summary = {key: value for key, value in estimator.training_summary_.items() if key != "seed" and value is not None}
    found += [(key.replace("_", " "), _text(value)) for key, value in summary.items()]
    if not isinstance(process, Posterior):
        return card(f"{name}, fitted", found, [])
    return card(f"{name}, fitted", [*found, *facts(process)], relevance(process, [str(column) for column in names]))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(float(value), 4) if isinstance(value, int | float) else elided(str(value), LONGEST)
