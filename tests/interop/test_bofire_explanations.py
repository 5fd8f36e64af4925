"""BoFire's strategies and surrogates: sums equal to `predict`, std of its joint posterior, shap's return type."""

import warnings
from typing import Any

import numpy as np
import pandas
import pytest
import torch

pytest.importorskip("bofire", reason="BoFire is not installed: pip install '.[frameworks]' in a clone")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import bofire.strategies.api as strategies
    import bofire.surrogates.api as surrogates
    from bofire.data_models.acquisition_functions.api import qLogEI
    from bofire.data_models.domain.api import Domain
    from bofire.data_models.features.api import (
        CategoricalDescriptorInput,
        CategoricalInput,
        ContinuousInput,
        ContinuousOutput,
        DiscreteInput,
    )
    from bofire.data_models.objectives.api import MaximizeObjective
    from bofire.data_models.strategies.api import SoboStrategy
    from bofire.data_models.surrogates.api import SingleTaskGPSurrogate
    from bofire.surrogates.feature_importance import combine_shap_importances

    import gplens.bofire
from frameworks_page import run

import gplens
from messages import naming

pytestmark = pytest.mark.filterwarnings("ignore")
SOLVENTS = {"water": [-1.4, 18.0], "ethanol": [-0.3, 46.1], "toluene": [2.7, 92.1]}
KEYS = ["temperature", "equivalents", "solvent", "catalyst"]


def domain() -> Domain:
    solvent = CategoricalDescriptorInput(
        key="solvent", categories=list(SOLVENTS), descriptors=["logP", "weight"], values=list(SOLVENTS.values())
    )
    inputs: list[Any] = [
        ContinuousInput(key="temperature", bounds=(20, 100)),
        DiscreteInput(key="equivalents", values=[1, 2, 4]),
        CategoricalInput(key="catalyst", categories=["Pd", "Ni", "Cu"]),
        solvent,
    ]
    return Domain.from_lists(inputs=inputs, outputs=[ContinuousOutput(key="yield", objective=MaximizeObjective(w=1.0))])


def experiments() -> pandas.DataFrame:
    r = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "temperature": r.uniform(20, 100, 10),
            "equivalents": r.choice([1.0, 2.0, 4.0], 10),
            "catalyst": np.resize(["Pd", "Ni", "Cu"], 10),
            "solvent": np.resize(["toluene", "water", "water", "ethanol"], 10),
        }
    )
    logP = table.solvent.map(lambda name: SOLVENTS[name][0])
    outcome = np.sin(table.temperature / 20) + 0.1 * table.equivalents + (table.catalyst == "Pd") - 0.2 * logP
    return table.assign(**{"yield": outcome, "valid_yield": 1})


@pytest.fixture(scope="module")
def strategy() -> Any:
    strategy = strategies.map(SoboStrategy(domain=domain(), acquisition_function=qLogEI(), seed=1))
    strategy.tell(experiments())
    return strategy


def test_attributions_add_up_to_predict(strategy: Any) -> None:
    rows = experiments()
    explanation = gplens.bofire.explain(strategy, rows.iloc[:4], uncertainty=None)["yield"]
    mean = strategy.predict(rows)["yield_pred"].to_numpy()
    assert set(explanation.feature_names) == set(KEYS)
    np.testing.assert_allclose(explanation.values.sum(1), (mean - mean.mean())[:4], rtol=1e-8, atol=1e-8)
    assert "catalyst" in str(explanation)
    assert "Pd" in str(explanation)


def test_deviations_are_those_of_the_joint_posterior(strategy: Any) -> None:
    rows = experiments()[list(strategy.domain.inputs.get_keys())]
    explanation = gplens.bofire.explain(strategy, rows.iloc[:3], baseline=rows.iloc[5], uncertainty=gplens.Full())[
        "yield"
    ]
    assert explanation.spread is not None
    assert explanation.spread.covariance is not None
    X = torch.tensor(
        strategy.domain.inputs.transform(rows, strategy.input_preprocessing_specs).to_numpy(dtype=float)[[0, 1, 2, 5]]
    )
    with torch.no_grad():
        C = strategy.model.posterior(X).distribution.covariance_matrix
    host = C.diagonal()[:3] + C[3, 3] - 2 * C[:3, 3]
    assert torch.allclose(explanation.spread.covariance.sum((1, 2)), host, rtol=1e-3)


def test_the_return_type_of_shap_importance(strategy: Any) -> None:
    import shap

    rows = experiments()
    found = gplens.bofire.shap_importance(strategy, rows.iloc[:2], rows)
    assert isinstance(found["yield"], shap.Explanation)
    assert found["yield"].data[0].tolist() == rows[list(found["yield"].feature_names)].iloc[0].tolist()
    mean = strategy.predict(rows)["yield_pred"].to_numpy()
    np.testing.assert_allclose(found["yield"].base_values, mean.mean(), rtol=1e-8)
    twice = combine_shap_importances([found, found])
    assert twice["yield"].values.shape == (4, 4)


@pytest.mark.slow
def test_a_surrogate_alone() -> None:
    model = SingleTaskGPSurrogate(inputs=domain().inputs, outputs=domain().outputs)
    surrogate, rows = surrogates.map(model), experiments()
    with pytest.raises(ValueError, match="fitted"):  # BoFire's own
        gplens.bofire.explain(surrogate, rows)
    surrogate.fit(rows)
    explanation = gplens.bofire.explain(surrogate, rows.iloc[:2], baseline=rows[KEYS].iloc[4], uncertainty=None)
    mean = surrogate.predict(rows)["yield_pred"].to_numpy()
    np.testing.assert_allclose(explanation["yield"].values.sum(1), mean[:2] - mean[4], rtol=1e-8, atol=1e-8)


@pytest.mark.slow
def test_the_acquisition_function(strategy: Any) -> None:
    candidates = strategy.ask(1)
    baseline = {"temperature": 60.0, "equivalents": 2.0, "solvent": "ethanol", "catalyst": "Pd"}
    explanation = gplens.bofire.explain_acquisition(strategy, candidates, baseline=baseline, tolerance=1e-4)
    change = explanation.prediction - explanation.baseline_prediction
    assert bool(explanation.converged.all())  # pyright: ignore[reportOptionalMemberAccess]
    assert float(explanation.values.sum()) == pytest.approx(float(change), rel=1e-3)
    assert float(change) > 0  # a candidate is worth more than any other experiment


def test_another_kind_of_predictor() -> None:
    with pytest.raises(TypeError, match=naming("strategy", "dict")):
        gplens.bofire.explain({}, experiments())


@pytest.mark.slow
def test_the_page_runs(strategy: Any) -> None:
    names = run("BoFire", strategy=strategy)
    np.testing.assert_allclose(names["importance"]["yield"].values, names["explanation"].values, rtol=1e-6, atol=1e-9)
