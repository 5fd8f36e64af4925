"""BoFire's `shap_importance` with exact attributions, and explanations with error bars."""

from dataclasses import replace
from typing import Any

import pandas
from bofire.data_models.features.api import ContinuousOutput

from gplens.adapters.reading import read
from gplens.baselines import Sample
from gplens.bofire.predictors import FittedStrategy
from gplens.explain import explain as explain_model
from gplens.explanation import Explanation
from gplens.interop.agreement import check_prediction
from gplens.uncertainty import Uncertainty


def explain(
    predictor: Any,
    experiments: pandas.DataFrame,
    *,
    baseline: Any = None,
    uncertainty: Uncertainty | bool | None = True,
    tolerance: float | None = None,
) -> dict[str, Explanation]:
    """An Explanation of each predicted output of a strategy or a surrogate, in the columns of BoFire.

    Args:
        predictor: a fitted strategy or surrogate.
        experiments: the rows to explain, such as what `strategy.ask` returned.
        baseline: what gplens.explain takes, such as an experiment as a dictionary; if None, the average over the
            experiments of the strategy, or, for a surrogate, over those that are explained.
        uncertainty, tolerance: as in gplens.explain.

    Raises:
        ValueError: from BoFire, if nothing was fitted.

    Returns:
        An Explanation for each output, by the name of the output.

    Example:
        >>> import gplens.bofire
        >>> explanation = gplens.bofire.explain(strategy, done[:1])["yield"]
        >>> sorted(explanation.feature_names), bool(explanation.converged.all())
        (['heat', 'solvent'], True)
    """
    fitted = FittedStrategy.of(predictor, experiments)
    tables = fitted.tables(experiments)
    if baseline is None:
        rows = getattr(predictor, "experiments", None)
        baseline = Sample((experiments if rows is None else rows)[list(tables.names)])
    explanations = {}
    for output in predictor.outputs.get_keys(ContinuousOutput):
        explanation = explain_model(
            replace(read(fitted.model_of(output)), encoder=tables),
            experiments[list(tables.names)],
            baseline=baseline,
            categories=tables.categories,
            uncertainty=uncertainty,
            tolerance=tolerance,
        )
        check_prediction(explanation, fitted.predicted(experiments, output), "predict(experiments)")
        explanations[output] = explanation
    return explanations


def shap_importance(
    predictor: Any,
    experiments: pandas.DataFrame,
    bg_experiments: pandas.DataFrame | None = None,
    bg_sample_size: int | None = 50,
    seed: int | None = None,
) -> dict[str, Any]:
    """A shap.Explanation for each output, as BoFire's function of this name returns it, but without sampling.

    Args:
        predictor: a fitted strategy or surrogate.
        experiments: the rows to explain.
        bg_experiments: the background; the explained experiments if None.
        bg_sample_size: the number of rows that are drawn from a larger background; all if None.
        seed: the seed of this draw.

    Raises:
        ValueError: from BoFire, if nothing was fitted.

    Returns:
        A shap.Explanation for each output, by the name of the output.

    Example:
        >>> import gplens.bofire
        >>> gplens.bofire.shap_importance(strategy, done[:2], done)["yield"].values.shape
        (2, 2)
    """
    background = experiments if bg_experiments is None else bg_experiments
    if bg_sample_size is not None and len(background) > bg_sample_size:
        background = background.sample(n=bg_sample_size, random_state=seed, replace=False)
    baseline = Sample(background[predictor.inputs.get_keys()])
    explanations = explain(predictor, experiments, baseline=baseline, uncertainty=None)
    return {output: _with_entries(explanation, experiments) for output, explanation in explanations.items()}


def _with_entries(explanation: Explanation, experiments: pandas.DataFrame) -> Any:
    """An explanation of shap with the entries of the experiments, including categories."""
    given = explanation.to_shap()
    given.data = experiments[list(explanation.feature_names)].to_numpy()
    return given


def explain_acquisition(
    strategy: Any, candidates: pandas.DataFrame, *, baseline: Any, tolerance: float | None = None
) -> Explanation:
    """The explanation of the acquisition function of a strategy at candidates, relative to a baseline.

    `explanation.channels` has the parts that come from a better mean and from a larger variance. Candidates that were
    asked for together are explained as if each had been asked for alone.

    Args:
        strategy: a fitted strategy.
        candidates: the rows to explain, such as what `strategy.ask` returned.
        baseline: what gplens.explain takes, such as an experiment as a dictionary. Near a measured experiment an
            acquisition function is sharp and takes long to integrate.
        tolerance: as in gplens.explain; 1e-4 is enough for a picture, and much faster.

    Raises:
        ValueError: if the strategy has several acquisition functions; from BoFire, if nothing was fitted.

    Returns:
        One Explanation, of all candidates.

    Example:
        >>> import gplens.bofire
        >>> near, candidate = {"solvent": "ethanol", "heat": 72.0}, done[1:2].assign(heat=57.0)
        >>> explanation = gplens.bofire.explain_acquisition(strategy, candidate, baseline=near, tolerance=1e-4)
        >>> sorted(explanation.feature_names), len(explanation)
        (['heat', 'solvent'], 1)
    """
    tables = FittedStrategy.of(strategy, candidates).tables(candidates)
    (acquisition, *others) = strategy._get_acqfs(1)
    if others:
        raise ValueError(f"expected a strategy with one acquisition function, got {1 + len(others)}.")
    return explain_model(
        replace(read(acquisition), encoder=tables),
        candidates[list(tables.names)],
        baseline=baseline,
        categories=tables.categories,
        tolerance=tolerance,
    )
