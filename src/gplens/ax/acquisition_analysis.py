"""The acquisition function of Ax's generator at suggested arms, explained by the parameters, as cards."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, final

from ax.adapter.base import Adapter
from ax.adapter.torch import TorchAdapter
from ax.analysis.analysis import Analysis
from ax.core.analysis_card import AnalysisCardBase
from ax.core.experiment import Experiment
from ax.core.observation import ObservationFeatures
from ax.generation_strategy.generation_strategy import GenerationStrategy

from gplens.adapters.reading import read
from gplens.ax.arms import Arms
from gplens.ax.cards import arm_cards
from gplens.ax.search_space import design_tables
from gplens.ax.states import applicable_state, given_experiment, torch_adapter
from gplens.baselines import Baseline
from gplens.explain import explain
from gplens.interop.design_tables import DesignTables


@final
class AcquisitionAnalysis(Analysis):
    """`client.compute_analyses([AcquisitionAnalysis()])`: a card for each arm without data.

    The bars of a card add up to the difference of the acquisition value from that at the baseline. The function is made
    as the generator makes it for its next arm: its samples are others than those that chose the arm, and arms that wait
    for data are not pending. There are no error bars, since an acquisition value is a number of the posterior;
    AttributionAnalysis has those of the metric.

    Args:
        arm_names: the arms; those without data if None, or, if all have data, those of the latest trial.
        baseline: the name of an arm, parameters, or an object of gplens.baselines; if None, the middle of the arms with
            data. An arm with data itself is where a noisy acquisition function jumps, and explanations do not converge.

    Example:
        >>> from gplens.ax import AcquisitionAnalysis
        >>> (card,) = client.compute_analyses([AcquisitionAnalysis()], display=False)
        >>> sorted(card.df["parameter_name"])
        ['layers', 'rate']
    """

    def __init__(
        self, *, arm_names: Sequence[str] | None = None, baseline: str | Mapping[str, Any] | Baseline | None = None
    ) -> None:
        self.arm_names, self.baseline = arm_names, baseline

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
        arms = Arms.of(experiment, self.arm_names)
        acquisition, tables = acquisition_of(fitted), design_tables(fitted, next(iter(arms.observed.values())))
        baseline, reference = middle(tables, arms) if self.baseline is None else arms.baseline(self.baseline)
        explanation = explain(
            replace(read(acquisition), encoder=tables),
            arms.frame(),
            baseline=baseline,
            categories=tables.categories,
        )
        kind = type(acquisition).__name__
        titles = [f"Why arm {name} was suggested: {kind}" for name in arms.explained]
        subtitle = f"How far each parameter moves {kind} away from its value at {reference}."
        return arm_cards(type(self).__name__, f"Attributions of {kind}", titles, subtitle, explanation, kind)


def middle(tables: DesignTables, arms: Arms) -> tuple[dict[str, Any], str]:
    """The average of each number over the arms with data, in inputs of the surrogate; the choices of the last arm."""
    X, choices = tables.encode(arms.observed_frame()).mean(0, keepdim=True), list(arms.observed.values())[-1]
    numbers = {p.name: float(p.numbers(X)) for p in tables.parameters if p.number is not None}
    return {**choices, **numbers}, "the middle of the arms with data"


def acquisition_of(adapter: TorchAdapter) -> Any:
    """BoTorch's acquisition function, made as Ax makes it for the next arm, without pending arms."""
    transformed = adapter._get_transformed_gen_args(
        search_space=adapter._search_space, optimization_config=adapter._optimization_config
    )
    digest, config = adapter._get_transformed_model_gen_args(
        search_space=transformed.search_space,
        pending_observations={},
        fixed_features=ObservationFeatures({}),
        optimization_config=transformed.optimization_config,
    )
    generator: Any = adapter.generator
    return generator._instantiate_acquisition(
        search_space_digest=digest, torch_opt_config=config, botorch_acqf_options=generator._botorch_acqf_options
    ).acqf
