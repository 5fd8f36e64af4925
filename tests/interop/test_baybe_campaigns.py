"""Campaigns that ran for some iterations, of the kinds that BayBE tests its own insights with."""

import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas
import pytest
import torch

pytest.importorskip("baybe", reason="BayBE is not installed: pip install '.[frameworks]' in a clone")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from baybe import Campaign
    from baybe.acquisition import qLogEI, qLogNEHVI
    from baybe.kernels import MaternKernel
    from baybe.objectives import DesirabilityObjective, ParetoObjective, SingleTargetObjective
    from baybe.parameters import CustomDiscreteParameter, NumericalContinuousParameter, NumericalDiscreteParameter
    from baybe.priors import GammaPrior
    from baybe.recommenders import BotorchRecommender, RandomRecommender, TwoPhaseMetaRecommender
    from baybe.searchspace import SearchSpace
    from baybe.settings import Settings
    from baybe.surrogates import GaussianProcessSurrogate
    from baybe.targets import NumericalTarget
    from baybe.utils.dataframe import add_fake_measurements, add_parameter_noise

    from gplens.baybe import Insight
    from gplens.baybe.pictures import MOST

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]
ITERATIONS, BATCH = 2, 2
SUBSTANCES = pandas.DataFrame(
    {"logP": [0.4, 1.3, 2.2], "weight": [31.0, 18.0, 77.0], "charge": [-2.0, 1.0, 5.0]},
    index=["first", "second", "third"],
)
KINDS = {
    "continuous": ["share", "shift"],
    "discrete": ["steps", "percent"],
    "hybrid": ["steps", "share"],
    "discrete with descriptors": ["steps", "substance"],
    "hybrid with descriptors": ["share", "substance"],
}
RAMPS = (
    NumericalTarget.normalized_ramp("a", cutoffs=(0, 100)),
    NumericalTarget.normalized_ramp("b", cutoffs=(0, 100), descending=True),
)
OBJECTIVES = {
    "single": SingleTargetObjective(NumericalTarget("a")),
    "minimised": SingleTargetObjective(NumericalTarget("a", minimize=True)),
    "desirability of models": DesirabilityObjective(RAMPS, as_pre_transformation=False),
    "model of a desirability": DesirabilityObjective(RAMPS, as_pre_transformation=True),
    "pareto": ParetoObjective((NumericalTarget("a"), NumericalTarget("b", minimize=True))),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
both_representations = pytest.mark.parametrize("use_comp_rep", [False, True], ids=["experimental", "computational"])


def started(kind: str, objective: str) -> Campaign:
    """Random experiments first, then those of a Gaussian process with the kernel of BayBE's own tests."""
    known: dict[str, Any] = {
        "share": NumericalContinuousParameter("share", (0, 1)),
        "shift": NumericalContinuousParameter("shift", (-1, 0)),
        "steps": NumericalDiscreteParameter("steps", (1, 2, 7), tolerance=0.3),
        "percent": NumericalDiscreteParameter("percent", (0.0, 25.0, 50.0, 75.0, 100.0), tolerance=0.2),
        "substance": CustomDiscreteParameter("substance", SUBSTANCES),
    }
    space = SearchSpace.from_product([known[name] for name in KINDS[kind]])
    surrogate = GaussianProcessSurrogate(kernel_or_factory=MaternKernel(2.5, GammaPrior(3, 1)))
    acquisition = qLogNEHVI() if objective == "pareto" else qLogEI()
    bayesian = BotorchRecommender(surrogate_model=surrogate, acquisition_function=acquisition)
    recommender = TwoPhaseMetaRecommender(initial_recommender=RandomRecommender(), recommender=bayesian)
    return Campaign(space, OBJECTIVES[objective], recommender=recommender)


def run(campaign: Campaign) -> None:
    """Iterations with outcomes that were made up, every second one with noise in the parameters."""
    with Settings(random_seed=1337):
        for i in range(ITERATIONS):
            batch = campaign.recommend(batch_size=BATCH)
            add_fake_measurements(batch, campaign.targets)
            if i % 2:
                add_parameter_noise(batch, campaign.parameters, noise_level=0.02)
            campaign.add_measurements(batch)


@cache
def ongoing(kind: str, objective: str) -> Campaign:
    campaign = started(kind, objective)
    run(campaign)
    return campaign


def experiments(campaign: Campaign) -> pandas.DataFrame:
    return campaign.measurements[[parameter.name for parameter in campaign.parameters]]


def check_sums(insight: Insight, explanations: tuple[Any, ...], rows: pandas.DataFrame) -> None:
    """As many explanations as models, each of which adds up to BayBE's own posterior mean."""
    for surrogate, explanation in zip(insight.surrogates, explanations, strict=True):
        with torch.no_grad():
            mean = surrogate.posterior(rows).mean.numpy().ravel()
        size = float(explanation.values.abs().max()) + np.ptp(mean)
        np.testing.assert_allclose(explanation.values.sum(1), mean - mean.mean(), atol=1e-8 * size)
        assert explanation.to_shap().values.shape == explanation.values.shape


@both_representations
@pytest.mark.parametrize("objective", OBJECTIVES)
@every_kind
def test_every_kind_of_search_space_and_objective(kind: str, objective: str, use_comp_rep: bool) -> None:
    campaign = ongoing(kind, objective)
    insight = Insight.from_campaign(campaign, use_comp_rep=use_comp_rep)
    rows = experiments(campaign)
    explanations = insight.explain(campaign.searchspace.transform(rows) if use_comp_rep else rows)
    assert isinstance(explanations, tuple)
    assert len(explanations) == campaign.objective._n_models
    check_sums(insight, explanations, rows)


@both_representations
@pytest.mark.parametrize("picture", ["bar", "beeswarm", "force", "heatmap", "scatter", "waterfall"])
@every_kind
def test_every_picture(kind: str, picture: str, use_comp_rep: bool) -> None:
    """With the warnings that BayBE's users know: one row of several, and parameters that are no numbers."""
    from matplotlib import pyplot

    insight = Insight.from_campaign(ongoing(kind, "single"), use_comp_rep=use_comp_rep)
    categories = not use_comp_rep and "substance" in KINDS[kind]
    message = "explanation_index" if picture in ("force", "waterfall") else "non-numeric"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        drawn = insight.plot(picture, show=False)
    assert any(message in str(warning.message) for warning in caught) == (
        picture in ("force", "waterfall") or (picture == "scatter" and categories)
    )
    if picture == "scatter":
        columns = 1 if categories else len(insight.background_data.columns)
        assert np.size(drawn) == columns
    pyplot.close("all")


def test_a_heatmap_of_one_experiment() -> None:
    """shap clusters rows, of which one alone has no distances."""
    from matplotlib import pyplot

    insight = Insight.from_campaign(ongoing("continuous", "single"))
    ax = insight.plot("heatmap", insight.background_data.iloc[:1], show=False)
    labels = [other.get_ylabel() for other in ax.figure.axes]
    assert "attribution" in labels
    assert not any("SHAP" in label for label in labels)
    pyplot.close("all")


def test_a_picture_of_many_numbers_shows_the_largest() -> None:
    """Descriptors are dozens of columns, of which nobody reads all."""
    from matplotlib import pyplot

    r = np.random.default_rng(0)
    table = pandas.DataFrame(r.normal(size=(9, 20)), index=list("abcdefghi"), columns=[f"d{i}" for i in range(20)])
    space = SearchSpace.from_product([CustomDiscreteParameter("substance", table, decorrelate=False)])
    campaign = Campaign(space, OBJECTIVES["single"], recommender=BotorchRecommender())
    campaign.add_measurements(pandas.DataFrame({"substance": list("abcdef"), "a": r.uniform(size=6)}))
    insight = Insight.from_campaign(campaign, use_comp_rep=True)
    with pytest.warns(UserWarning, match=f"{MOST} largest of 20"):
        axes = insight.plot("scatter", show=False)
    sizes = insight.explain_target(0, uncertainty=None).values.abs().mean(0)
    names = {insight.background_data.columns[int(k)] for k in sizes.argsort(descending=True)[:MOST]}
    assert {ax.get_xlabel() for ax in axes} == names
    pyplot.close("all")


@every_kind
def test_more_measurements_change_the_explanation(kind: str) -> None:
    campaign = started(kind, "single")
    run(campaign)
    first = Insight.from_campaign(campaign).explain_target(0, uncertainty=None)
    run(campaign)
    second = Insight.from_campaign(campaign).explain_target(0, uncertainty=None)
    assert len(second) == 2 * len(first) == 2 * ITERATIONS * BATCH
    assert not torch.allclose(second.values[: len(first)], first.values)


@every_kind
def test_a_recommender(kind: str) -> None:
    campaign = ongoing(kind, "single")
    context = campaign.searchspace, campaign.objective, campaign.measurements
    insight = Insight.from_recommender(campaign.recommender.recommender, *context)
    check_sums(insight, insight.explain(), experiments(campaign))


@both_representations
@every_kind
def test_columns_in_another_order(kind: str, use_comp_rep: bool) -> None:
    """Features follow the columns of the data, in values and deviations."""
    insight = Insight.from_campaign(ongoing(kind, "single"), use_comp_rep=use_comp_rep)
    rows = insight.background_data
    order = list(reversed(range(rows.shape[1])))
    straight, turned = insight.explain_target(0, rows), insight.explain_target(0, rows.iloc[:, order])
    assert straight.feature_names == tuple(rows.columns)
    assert turned.feature_names == tuple(rows.columns[order])
    assert torch.equal(turned.values, straight.values[:, order])
    assert torch.equal(turned.std, straight.std[:, order])


@both_representations
@every_kind
def test_data_without_a_column(kind: str, use_comp_rep: bool) -> None:
    insight = Insight.from_campaign(ongoing(kind, "single"), use_comp_rep=use_comp_rep)
    with pytest.raises(ValueError, match="must contain all columns that were used"):
        insight.explain(insight.background_data.iloc[:, 1:])


@pytest.mark.parametrize("objective", ["single", "minimised", "model of a desirability"])
@pytest.mark.parametrize("kind", ["continuous", "hybrid with descriptors"])
def test_the_default_acquisition_function_has_channels(kind: str, objective: str) -> None:
    """Affine objectives are known as such: no autograd, and BayBE's own acquisition function is left as it was."""
    campaign = ongoing(kind, objective)
    insight = Insight.from_campaign(campaign)
    explanation = insight.explain_acquisition(campaign.recommend(batch_size=1))
    assert explanation.channels is not None
    assert "autograd" not in repr(explanation)
    assert (explanation.gap.abs() <= 1e-6 * explanation.values.abs().max()).all()
    assert type(campaign.get_acquisition_function().objective).__name__ == "ChainedMCObjective"
