"""Cards of Ax: bars that add up to `adapter.predict` in raw units, whiskers from the surrogate, Ax's own messages."""

import logging
import warnings
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("ax", reason="Ax is not installed: pip install '.[frameworks]' in a clone")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
    from ax.core.observation import ObservationFeatures

    from gplens.ax import AcquisitionAnalysis, AttributionAnalysis
    from gplens.ax.acquisition_analysis import acquisition_of
    from gplens.ax.search_space import encoded

from frameworks_page import run

pytestmark = pytest.mark.filterwarnings("ignore")
logging.getLogger("ax").setLevel(logging.CRITICAL)


def started() -> Client:
    client = Client(random_seed=0)
    client.configure_experiment(
        name="training",
        parameters=[
            RangeParameterConfig(name="rate", parameter_type="float", bounds=(1e-5, 1e-1), scaling="log"),
            RangeParameterConfig(name="layers", parameter_type="int", bounds=(1, 6)),
            RangeParameterConfig(name="dropout", parameter_type="float", bounds=(0.0, 0.5)),
            ChoiceParameterConfig(name="act", parameter_type="str", values=["relu", "tanh", "gelu"], is_ordered=False),
            ChoiceParameterConfig(name="batch", parameter_type="int", values=[16, 32, 64, 128], is_ordered=True),
        ],
    )
    client.configure_optimization(objective="-loss")
    client.configure_generation_strategy(method="fast", initialization_budget=5, initialize_with_center=False)
    return client


def loss(p: dict[str, Any]) -> float:
    choice = {"relu": 0.0, "tanh": 0.5, "gelu": -0.3}[p["act"]]
    return float((np.log10(p["rate"]) + 3) ** 2 + 0.3 * abs(p["layers"] - 3) + choice + p["dropout"] + p["batch"] / 200)


@pytest.fixture(scope="module")
def client() -> Client:
    """Ten random trials with data, and one that the surrogate suggested."""
    client, r = started(), np.random.default_rng(0)
    for i in range(10):
        arm: dict[str, Any] = {
            "rate": float(10 ** r.uniform(-5, -1)),
            "layers": int(r.integers(1, 7)),
            "dropout": float(r.uniform(0, 0.5)),
            "act": ["relu", "tanh", "gelu"][i % 3],
            "batch": int(r.choice([16, 32, 64, 128])),
        }
        index = client.attach_trial(parameters=arm)
        client.complete_trial(index, raw_data={"loss": (loss(arm), 0.05)})
    client.get_next_trials(max_trials=1)
    return client


def adapter_of(client: Client) -> Any:
    return client._generation_strategy.adapter


def arms_of(client: Client) -> dict[str, dict[str, Any]]:
    return {name: dict(arm.parameters) for name, arm in client._experiment.arms_by_name.items()}


def predicted(client: Client, arms: list[dict[str, Any]]) -> np.ndarray:
    means, _ = adapter_of(client).predict([ObservationFeatures(parameters=dict(arm)) for arm in arms])
    return np.array(means["loss"])


def test_the_suggested_arm_against_the_average(client: Client) -> None:
    (card,) = client.compute_analyses([AttributionAnalysis()], display=False)
    arms = arms_of(client)
    *observed, suggested = arms
    change = predicted(client, [arms[suggested]])[0] - predicted(client, [arms[name] for name in observed]).mean()
    assert suggested in card.title
    assert card.df.attribution.sum() == pytest.approx(change, rel=1e-8)
    assert set(card.df.parameter_name) == {"rate", "layers", "dropout", "act", "batch"}
    assert dict(zip(card.df.parameter_name, card.df.value, strict=True))["act"] == arms[suggested]["act"]


@pytest.mark.slow
def test_several_arms_against_another_one(client: Client) -> None:
    names = list(arms_of(client))
    analysis = AttributionAnalysis("loss", arm_names=names[:3], baseline=names[3])
    (group,) = client.compute_analyses([analysis], display=False)
    arms = [arms_of(client)[name] for name in names[:4]]
    values = predicted(client, arms)
    for card, value in zip(group.flatten(), values[:3], strict=True):
        assert card.df.attribution.sum() == pytest.approx(value - values[3], rel=1e-8)


def test_a_single_changed_parameter_has_the_deviation_of_the_difference(client: Client) -> None:
    """Only the rate changes: its std is that of f(x) - f(x0), from the surrogate's joint posterior, in raw units."""
    names, adapter = list(arms_of(client)), adapter_of(client)
    arm = arms_of(client)[names[0]]
    other = {**arm, "rate": arm["rate"] * 3}
    (card,) = client.compute_analyses([AttributionAnalysis(arm_names=names[:1], baseline=other)], display=False)
    with torch.no_grad():
        C = adapter.generator.surrogate.model.posterior(encoded(adapter, [arm, other])).distribution.covariance_matrix
    scale = adapter.transforms["StandardizeY"].Ystd["loss"]
    table = card.df.set_index("parameter_name")
    assert table["std"]["rate"] == pytest.approx(scale * float(C[0, 0] + C[1, 1] - 2 * C[0, 1]) ** 0.5, rel=1e-3)
    assert (table.attribution.drop("rate") == 0).all()


@pytest.mark.slow
def test_figures_have_a_bar_and_a_whisker_for_each_parameter(client: Client) -> None:
    (card,) = client.compute_analyses([AttributionAnalysis()], display=False)
    bars, ends = card.get_figure().data
    assert len(bars.x) == len(bars.error_x.array) == 5
    assert ends.x[1] - ends.x[0] == pytest.approx(sum(bars.x))
    assert "Plotly" in card._repr_html_()
    assert "Whiskers" in card.subtitle
    (without,) = client.compute_analyses([AttributionAnalysis(uncertainty=None)], display=False)
    assert without.get_figure().data[0].error_x.array is None
    assert "Whiskers" not in without.subtitle


@pytest.mark.slow
def test_the_acquisition_function(client: Client) -> None:
    """The bars add up to the difference of the values of the function that Ax makes, with its samples as they are."""
    torch.manual_seed(0)
    (card,) = client.compute_analyses([AcquisitionAnalysis()], display=False)
    ends = card.get_figure().data[1]
    assert card.name == "AcquisitionAnalysis"
    assert type(acquisition_of(adapter_of(client))).__name__ in card.title
    assert card.df.attribution.sum() == pytest.approx(ends.x[1] - ends.x[0], rel=1e-5)
    assert ends.x[1] > ends.x[0]  # a suggested arm is worth more than the best one that was measured


def test_states_that_do_not_apply() -> None:
    """Before there is a surrogate the card says what Ax's own analyses say."""
    from ax.analysis.plotly.sensitivity import SensitivityAnalysisPlot

    client = started()
    for index, arm in client.get_next_trials(max_trials=1).items():
        client.complete_trial(index, raw_data={"loss": loss(dict(arm))})
    analyses = [AttributionAnalysis(), AcquisitionAnalysis(), SensitivityAnalysisPlot()]
    ours, acquisition, theirs = client.compute_analyses(analyses, display=False)
    assert type(ours).__name__ == "NotApplicableStateAnalysisCard"
    assert ours.blob == acquisition.blob == theirs.blob


def test_mistakes_are_cards_with_the_sentence(client: Client) -> None:
    analyses = [AttributionAnalysis("accuracy"), AttributionAnalysis(arm_names=["nobody"])]
    cards = client.compute_analyses(analyses, display=False)
    assert "accuracy" in cards[0].subtitle
    assert "nobody" in cards[1].subtitle


@pytest.mark.slow
def test_the_page_runs(client: Client) -> None:
    assert [card.name for card in run("Ax", client=client)["cards"]] == ["AttributionAnalysis", "AcquisitionAnalysis"]
