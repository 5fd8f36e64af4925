"""Whether an experiment has a surrogate to explain, with the messages of Ax."""

from ax.adapter.base import Adapter
from ax.adapter.torch import TorchAdapter
from ax.analysis.plotly.sensitivity import SensitivityAnalysisPlot
from ax.analysis.utils import extract_relevant_adapter
from ax.core.experiment import Experiment
from ax.generation_strategy.generation_strategy import GenerationStrategy


def applicable_state(
    experiment: Experiment | None, generation_strategy: GenerationStrategy | None, adapter: Adapter | None
) -> str | None:
    """A message about what is missing for Ax's sensitivity analysis: trials, data, a fitted surrogate. Else None."""
    return SensitivityAnalysisPlot().validate_applicable_state(
        experiment=experiment, generation_strategy=generation_strategy, adapter=adapter
    )


def torch_adapter(
    experiment: Experiment, generation_strategy: GenerationStrategy | None, adapter: Adapter | None
) -> TorchAdapter:
    """The adapter that Ax would use, fitted to the experiment if necessary."""
    relevant = extract_relevant_adapter(experiment=experiment, generation_strategy=generation_strategy, adapter=adapter)
    if not isinstance(relevant, TorchAdapter):
        raise TypeError(f"expected an adapter with a fitted surrogate, got {type(relevant).__name__}; run more trials.")
    return relevant


def given_experiment(experiment: Experiment | None) -> Experiment:
    """The experiment, which the calls of Ax always pass."""
    if experiment is None:
        raise ValueError("expected an experiment, got None; use client.compute_analyses([...]).")
    return experiment
