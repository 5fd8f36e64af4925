"""Attributions of the predicted metric of arms to the parameters, with error bars, as cards of Ax."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, final

import torch
from ax.adapter.base import Adapter
from ax.adapter.torch import TorchAdapter
from ax.analysis.analysis import Analysis
from ax.analysis.plotly.utils import select_metric
from ax.core.analysis_card import AnalysisCardBase
from ax.core.experiment import Experiment
from ax.core.observation import ObservationFeatures
from ax.generation_strategy.generation_strategy import GenerationStrategy

from gplens.ax.arms import Arms
from gplens.ax.cards import arm_cards
from gplens.ax.search_space import design_tables
from gplens.ax.states import applicable_state, given_experiment, torch_adapter
from gplens.ax.surrogate import read_metric
from gplens.baselines import Baseline
from gplens.explain import explain
from gplens.explanation import Explanation
from gplens.interop.agreement import check_prediction
from gplens.uncertainty import Uncertainty


@final
class AttributionAnalysis(Analysis):
    """`client.compute_analyses([AttributionAnalysis()])`: a card for each arm, and a group of cards for several arms.

    The bars of a card add up to the difference of `adapter.predict` from its value at the baseline, in raw units.

    Args:
        metric_name: the metric; the objective if None.
        arm_names: the arms; those without data if None, or, if all have data, those of the latest trial.
        baseline: what attributions are relative to: the name of an arm, parameters, or an object of gplens.baselines;
            the average over all arms with data if None.
        uncertainty: as in gplens.explain.

    Example:
        >>> from gplens.ax import AttributionAnalysis
        >>> (card,) = client.compute_analyses([AttributionAnalysis()], display=False)
        >>> list(card.df["parameter_name"]), bool((card.df["std"] > 0).all())
        (['rate', 'layers'], True)
    """

    def __init__(
        self,
        metric_name: str | None = None,
        *,
        arm_names: Sequence[str] | None = None,
        baseline: str | Mapping[str, Any] | Baseline | None = None,
        uncertainty: Uncertainty | bool | None = True,
    ) -> None:
        self.metric_name, self.arm_names, self.baseline = metric_name, arm_names, baseline
        self.uncertainty = uncertainty

    def validate_applicable_state(
        self,
        experiment: Experiment | None = None,
        generation_strategy: GenerationStrategy | None = None,
        adapter: Adapter | None = None,
    ) -> str | None:
        """Ax's message about missing trials, data, or a missing surrogate."""
        return applicable_state(experiment, generation_strategy, adapter)

    def compute(
        self,
        experiment: Experiment | None = None,
        generation_strategy: GenerationStrategy | None = None,
        adapter: Adapter | None = None,
    ) -> AnalysisCardBase:
        experiment = given_experiment(experiment)
        fitted = torch_adapter(experiment, generation_strategy, adapter)
        metric = self.metric_name or select_metric(experiment)
        arms = Arms.of(experiment, self.arm_names)
        explanation, reference = self._explain(fitted, metric, arms)
        titles = [
            f"Why {metric} is predicted to be {float(prediction):.4g} for arm {name}"
            for prediction, name in zip(explanation.prediction, arms.explained, strict=True)
        ]
        whiskers = "" if explanation.spread is None else " Whiskers: 95 % intervals."
        subtitle = f"How far each parameter moves the prediction away from {reference}.{whiskers}"
        return arm_cards(type(self).__name__, f"Attributions of {metric}", titles, subtitle, explanation, metric)

    def _explain(self, adapter: TorchAdapter, metric: str, arms: Arms) -> tuple[Explanation, str]:
        """The explanation of all arms, compared with the prediction of Ax, and the name of its baseline."""
        baseline, reference = arms.baseline(self.baseline)
        some_arm = next(iter(arms.observed.values()))
        tables = design_tables(adapter, some_arm)
        explanation = explain(
            replace(read_metric(adapter, metric, some_arm), encoder=tables),
            arms.frame(),
            baseline=baseline,
            categories=tables.categories,
            uncertainty=self.uncertainty,
        )
        features = [ObservationFeatures(parameters=dict(arm)) for arm in arms.explained.values()]
        means, _ = adapter.predict(features)
        check_prediction(explanation, torch.tensor(means[metric], dtype=torch.float64), "adapter.predict")
        return explanation, reference
