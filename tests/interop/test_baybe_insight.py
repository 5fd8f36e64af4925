"""BayBE's campaigns: sums equal to its posterior in its units, std equal to its joint posterior, its exceptions."""

import warnings
from typing import Any

import numpy as np
import pandas
import pytest
import torch

pytest.importorskip("baybe", reason="BayBE is not installed: pip install '.[frameworks]' in a clone")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from baybe import Campaign
    from baybe.exceptions import (
        IncompatibilityError,
        IncompatibleSurrogateError,
        ModelNotTrainedError,
        NoMeasurementsError,
    )
    from baybe.objectives import DesirabilityObjective, ParetoObjective, SingleTargetObjective
    from baybe.parameters import (
        CategoricalParameter,
        CustomDiscreteParameter,
        NumericalContinuousParameter,
        NumericalDiscreteParameter,
        TaskParameter,
    )
    from baybe.recommenders import BotorchRecommender, RandomRecommender, TwoPhaseMetaRecommender
    from baybe.searchspace import SearchSpace
    from baybe.surrogates import GaussianProcessSurrogate, RandomForestSurrogate
    from baybe.targets import NumericalTarget

    from gplens.baybe import Insight
    from gplens.baybe.surrogates import measured as best_of

from frameworks_page import run

import gplens
from messages import naming

pytestmark = pytest.mark.filterwarnings("ignore")
SOLVENTS = pandas.DataFrame(
    {"logP": [-1.4, -0.3, 2.7, -0.2], "weight": [18.0, 46.1, 92.1, 58.1], "dipole": [1.85, 1.69, 0.36, 2.88]},
    index=["water", "ethanol", "toluene", "acetone"],
)
BASE = {"temperature": 80.0, "stirring": "slow", "solvent": "water", "pressure": 1.0}


def measured(space: SearchSpace, names: list[str]) -> pandas.DataFrame:
    """A table of experiments that covers all categories, with outcomes."""
    r = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "temperature": r.choice([60.0, 70.0, 80.0, 90.0, 100.0], 12),
            "stirring": np.resize(["slow", "medium", "fast"], 12),
            "solvent": np.resize(list(SOLVENTS.index), 12),
            "pressure": r.uniform(1, 5, 12),
            "plant": np.resize(["old", "new"], 12),
        }
    )
    speed = table.stirring.map({"slow": 0.0, "medium": 3.0, "fast": 5.0})
    outcome = 50 + 0.3 * (table.temperature - 80) + speed * np.sin(table.pressure) + table.solvent.map(SOLVENTS.logP)
    table = table[[parameter.name for parameter in space.parameters]]
    return table.assign(**{name: outcome * (1 - 2 * i) for i, name in enumerate(names)})


def parameters() -> list[Any]:
    return [
        NumericalDiscreteParameter("temperature", [60, 70, 80, 90, 100]),
        CategoricalParameter("stirring", ["slow", "medium", "fast"]),
        CustomDiscreteParameter("solvent", SOLVENTS, decorrelate=False),
        NumericalContinuousParameter("pressure", (1, 5)),
    ]


def campaign_of(space: SearchSpace, objective: Any, names: list[str], **options: Any) -> Campaign:
    campaign = Campaign(space, objective, recommender=BotorchRecommender(**options))
    campaign.add_measurements(measured(space, names))
    return campaign


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    space = SearchSpace.from_product(parameters())
    return campaign_of(space, SingleTargetObjective(NumericalTarget("yield")), ["yield"])


@pytest.fixture(scope="module")
def insight(campaign: Campaign) -> Insight:
    return Insight.from_campaign(campaign)


def mean_of(surrogate: GaussianProcessSurrogate, rows: pandas.DataFrame) -> np.ndarray:
    with torch.no_grad():
        return surrogate.posterior(rows).mean.numpy().ravel()


def test_attributions_add_up_to_the_posterior_of_the_surrogate(insight: Insight) -> None:
    """In the experimental columns and in the units of the yield, relative to the average over the measurements."""
    explanation = insight.explain_target(0, uncertainty=None)
    mean = mean_of(insight.surrogates[0], insight.background_data)
    assert set(explanation.feature_names) == set(insight.background_data.columns)
    sums = explanation.values.sum(1).numpy()
    np.testing.assert_allclose(sums, mean - mean.mean(), rtol=1e-8, atol=1e-8 * np.ptp(mean))


def test_deviations_are_those_of_the_joint_posterior(insight: Insight) -> None:
    """The variance of the sum of the attributions is that of f(x) - f(x0), from BayBE's own joint posterior."""
    rows = insight.background_data.iloc[:3]
    explanation = insight.explain_target(0, rows, baseline=BASE, uncertainty=gplens.Full())
    assert explanation.spread is not None
    assert explanation.spread.covariance is not None
    pairs = pandas.concat([rows, pandas.DataFrame([BASE])[rows.columns]])
    with torch.no_grad():
        C = insight.surrogates[0].posterior(pairs).distribution.covariance_matrix
    host = C.diagonal()[:3] + C[3, 3] - 2 * C[:3, 3]
    assert torch.allclose(explanation.spread.covariance.sum((1, 2)), host, rtol=1e-3)


def test_a_category_that_stays_has_no_attribution(insight: Insight) -> None:
    explanation = insight.explain_target(0, pandas.DataFrame([{**BASE, "pressure": 4.0}]), baseline=BASE)
    others = [k for k, name in enumerate(explanation.feature_names) if name != "pressure"]
    assert bool((explanation.values[0, others] == 0).all())
    assert explanation.spread is not None
    assert explanation.spread.std is not None
    assert bool((explanation.spread.std[0, others] == 0).all())


def test_categories_are_printed_by_their_names(insight: Insight) -> None:
    text = str(insight.explain_target(0, pandas.DataFrame([{**BASE, "solvent": "toluene"}]), baseline=BASE))
    assert "solvent" in text
    assert "toluene" in text


@pytest.mark.slow
def test_the_computational_representation(campaign: Campaign) -> None:
    insight = Insight.from_campaign(campaign, use_comp_rep=True)
    explanation = insight.explain_target(0, insight.background_data.iloc[:2], uncertainty=None)
    assert set(explanation.feature_names) == set(campaign.searchspace.comp_rep_columns)
    rows = campaign.measurements[[p.name for p in campaign.parameters]]
    mean = mean_of(insight.surrogates[0], rows)
    np.testing.assert_allclose(explanation.values.sum(1), (mean - mean.mean())[:2], rtol=1e-8, atol=1e-8 * np.ptp(mean))


@pytest.mark.slow
def test_recommenders_and_surrogates(campaign: Campaign, insight: Insight) -> None:
    rows = insight.background_data.iloc[:2]
    context = campaign.searchspace, campaign.objective, campaign.measurements
    recommender = BotorchRecommender()
    by_recommender = Insight.from_recommender(recommender, *context).explain_target(0, rows, uncertainty=None)
    surrogate = recommender.get_surrogate(*context)
    by_surrogate = Insight.from_surrogate(surrogate, insight.background_data).explain_target(0, rows, uncertainty=None)
    assert torch.allclose(by_recommender.values, by_surrogate.values, rtol=1e-9)
    with pytest.raises(IncompatibilityError, match=naming("from_campaign")):
        Insight.from_surrogate(surrogate, insight.background_data).explain_acquisition(rows)


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("waterfall", "scatter", "force", "heatmap")]


@pytest.mark.parametrize("kind", ["bar", "beeswarm", *SLOW])
def test_pictures(insight: Insight, kind: str) -> None:
    from matplotlib import pyplot

    insight.plot(kind, insight.background_data.iloc[:3], show=False, explanation_index=1)
    pyplot.close("all")


def test_a_kind_that_does_not_exist(insight: Insight) -> None:
    with pytest.raises(ValueError, match=naming("beeswarm", "pie")):
        insight.plot("pie", show=False)


def test_states_that_do_not_apply(campaign: Campaign) -> None:
    """The exceptions are BayBE's, and where BayBE itself finds the fault, so is the sentence."""
    space, objective = campaign.searchspace, campaign.objective
    data = campaign.measurements[[p.name for p in campaign.parameters]]
    with pytest.raises(NoMeasurementsError, match=r"The campaign does not contain any measurements\."):
        Insight.from_campaign(Campaign(space, objective))
    waiting = Campaign(space, objective, recommender=TwoPhaseMetaRecommender(switch_after=1000))
    waiting.add_measurements(campaign.measurements)
    with pytest.raises(IncompatibilityError, match="surrogate"):
        Insight.from_campaign(waiting)
    with pytest.raises(ModelNotTrainedError):
        Insight.from_surrogate(GaussianProcessSurrogate(), data)
    with pytest.raises(IncompatibleSurrogateError, match=naming("RandomForestSurrogate")):
        Insight.from_surrogate(RandomForestSurrogate(), data)
    with pytest.raises(TypeError, match=naming("RandomRecommender")):
        Insight.from_recommender(RandomRecommender(), space, objective, campaign.measurements)
    with pytest.raises(ValueError, match=r"must contain all columns that were used.*solvent"):
        Insight.from_campaign(campaign).explain(data.drop(columns="solvent"))


@pytest.mark.slow
def test_several_targets_and_tasks() -> None:
    """A Pareto objective has a surrogate for each target; a task parameter is a category of its own kernel."""
    task = TaskParameter("plant", ["old", "new"], active_values=["new"])
    space = SearchSpace.from_product([*parameters()[:2], task])
    targets = [NumericalTarget("yield"), NumericalTarget("cost", minimize=True)]
    campaign = campaign_of(space, ParetoObjective(targets), ["yield", "cost"])
    insight = Insight.from_campaign(campaign)
    explanations = [insight.explain_target(k, uncertainty=None) for k in range(2)]
    assert len(explanations) == 2
    for surrogate, explanation in zip(insight.surrogates, explanations, strict=True):
        mean = mean_of(surrogate, insight.background_data)
        np.testing.assert_allclose(explanation.values.sum(1), mean - mean.mean(), rtol=1e-8, atol=1e-8 * np.ptp(mean))
    with pytest.raises(ValueError, match=naming("target_index")):
        insight.plot("bar", show=False)


@pytest.mark.parametrize("scalarizer", ["MEAN", "GEOM_MEAN"])
def test_the_best_measurement_is_a_complete_one(scalarizer: str) -> None:
    """Of a partial measurement, which BayBE takes, nobody knows how good it is."""
    ramps = [NumericalTarget.normalized_ramp(name, cutoffs=(0, 100)) for name in ("yield", "purity")]
    objective = DesirabilityObjective(ramps, scalarizer=scalarizer)
    space = SearchSpace.from_product([NumericalContinuousParameter("pressure", (1, 5))])
    table = pandas.DataFrame({"pressure": [1.0, 2.0, 3.0], "yield": [20.0, 60.0, 50.0], "purity": [30.0, 50.0, np.nan]})
    _, best = best_of(space, objective, table, use_comp_rep=False)
    assert best is not None
    assert best["pressure"] == 2.0
    _, best = best_of(space, objective, table.iloc[2:], use_comp_rep=False)
    assert best is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qLogEI", "UCB"])
def test_the_acquisition_function_of_a_recommender(campaign: Campaign, name: str) -> None:
    """Relative to the best measurement, in experimental columns, with channels, though the second row changes one."""
    context = campaign.searchspace, campaign.objective, campaign.measurements
    insight = Insight.from_recommender(BotorchRecommender(acquisition_function=name), *context)
    assert insight.incumbent is not None
    assert insight.acquisition is not None
    best = {str(key): value for key, value in insight.incumbent.items()}
    assert best["temperature"] == campaign.measurements["temperature"].iloc[campaign.measurements["yield"].argmax()]
    rows = pandas.DataFrame([{**best, "pressure": 4.5, "temperature": 90.0}, {**best, "solvent": "acetone"}])
    tolerance = 1e-6 if name == "UCB" else 1e-4  # samples of qLogEI have kinks
    explanation = insight.explain_acquisition(rows, tolerance=tolerance)
    change = explanation.prediction - explanation.baseline_prediction
    assert torch.allclose(explanation.values.sum(1), change, rtol=10 * tolerance)
    torch.manual_seed(0)
    acquisition, tables = insight.acquisition(), insight.tables
    assert tables is not None
    if name == "UCB":  # which has no samples: the same value from any instance
        with torch.no_grad():
            host = acquisition(tables.encode(rows)[:, None])
        assert torch.allclose(explanation.prediction, host, rtol=1e-8)
        split = insight.explain_acquisition(rows.iloc[:1])
        assert split.channels is not None
        assert torch.allclose(sum(split.channels.values()), split.values, rtol=1e-8)  # pyright: ignore
    assert explanation.channels is not None
    parts = torch.stack(list(explanation.channels.values()))
    assert (parts.sum(0) - explanation.values).abs().max() <= 1e-12 * parts.abs().max()


@pytest.mark.slow
def test_the_page_runs(campaign: Campaign) -> None:
    names = run("BayBE", campaign=campaign)
    assert len(names["explanation"]) == len(names["reasons"]) == 1
