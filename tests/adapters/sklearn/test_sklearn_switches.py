"""A pipeline with a one-hot encoder: the default path is straight in the shares, categories= switches at once."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import gplens
from category_models import by_definition

TOWNS = ["Hill", "New", "Old"]


def fitted() -> tuple[Pipeline, pd.DataFrame]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.uniform(0, 3, 40), "town": rng.choice(TOWNS, 40)})
    y = np.sin(frame["size"]) + (frame["town"] == "Old") * frame["size"]
    columns = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["town"]))
    return make_pipeline(columns, GaussianProcessRegressor(RBF(1.0), alpha=0.01, optimizer=None)).fit(frame, y), frame


def test_a_column_that_is_switched_at_once() -> None:
    model, frame = fitted()

    def predict(x: np.ndarray) -> np.ndarray:
        return model.predict(pd.DataFrame({"size": x[:, 0], "town": [TOWNS[int(code)] for code in x[:, 1]]}))

    rows, x0 = frame.iloc[[0, 1, 2]], frame.iloc[5]
    codes = np.array([[size, TOWNS.index(town)] for size, town in rows.itertuples(index=False)])
    code0 = np.array([x0["size"], TOWNS.index(x0["town"])])
    explanation = gplens.explain(model, rows, baseline=x0, categories=["town"], uncertainty=True, support=False)
    truth = np.stack([by_definition(predict, code0, x, [1]) for x in codes])
    np.testing.assert_allclose(explanation.values.numpy(), truth, atol=2e-6)
    assert explanation.feature_names == ("size", "town")
    assert "town" in str(explanation.provenance.path)
    assert explanation.spread is not None
    assert explanation.spread.covariance is not None
    straight = gplens.explain(model, rows, baseline=x0, uncertainty=True, support=False)
    assert straight.spread is not None
    assert straight.spread.covariance is not None
    changed = torch.as_tensor(codes[:, 1] != code0[1])
    assert bool(((straight.values - explanation.values).abs().amax(1) > 1e-4)[changed].all())
    of_change, expected = explanation.spread.covariance.sum((1, 2)), straight.spread.covariance.sum((1, 2))
    assert of_change.tolist() == pytest.approx(expected.tolist(), rel=1e-2)  # Var(f(x) - f(x0)), on both paths
