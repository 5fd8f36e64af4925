"""Searches of parameters, transformed targets, and pipelines around and inside them."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn_zoo import plane

import gplens
from gplens import links, targets
from oracles.difference_path import integrated_gradients

X, Y = plane()
POSITIVE = np.exp(Y)
ROWS, BASE = X[[1, 4]] + 0.1, X.mean(0)


def gp() -> Any:
    return GaussianProcessRegressor(1.0 * RBF(2.0) + WhiteKernel(0.1), alpha=0.05, optimizer=None)


def explained(model: Any, **options: Any) -> gplens.Explanation:
    return gplens.explain(model, ROWS, baseline=BASE, **options)


OUTCOMES: dict[str, Callable[[], Any]] = {
    "standardised": lambda: TransformedTargetRegressor(gp(), transformer=StandardScaler()),
    "between 0 and 1": lambda: TransformedTargetRegressor(gp(), transformer=MinMaxScaler()),
    "robust": lambda: TransformedTargetRegressor(gp(), transformer=RobustScaler()),
    "logarithm": lambda: TransformedTargetRegressor(gp(), func=np.log, inverse_func=np.exp),
    "logarithm of 1 + y": lambda: TransformedTargetRegressor(gp(), func=np.log1p, inverse_func=np.expm1),
    "a function of one's own": lambda: TransformedTargetRegressor(
        gp(), func=lambda y: np.log(y) / 2, inverse_func=lambda z: np.exp(2 * z)
    ),
    "box-cox": lambda: TransformedTargetRegressor(gp(), transformer=PowerTransformer("box-cox")),
    "yeo-johnson": lambda: TransformedTargetRegressor(gp(), transformer=PowerTransformer()),
    "several": lambda: TransformedTargetRegressor(
        make_pipeline(PowerTransformer(), gp()),
        transformer=make_pipeline(FunctionTransformer(np.log, np.exp), StandardScaler()),
    ),
    "nothing": lambda: TransformedTargetRegressor(gp()),
}
AFFINE = ("standardised", "between 0 and 1", "robust", "nothing")


@pytest.mark.parametrize("name", OUTCOMES)
def test_transformed_targets_are_explained_as_predict_has_them(name: str) -> None:
    with warnings.catch_warnings(action="ignore"):  # functions and their inverses differ by rounding
        model = OUTCOMES[name]().fit(X, POSITIVE)
    e = explained(model, tolerance=1e-9)
    oracle = integrated_gradients(model.predict, ROWS, BASE, 1e-3 * np.ones(3))
    np.testing.assert_allclose(e.prediction.numpy(), model.predict(ROWS), rtol=0, atol=1e-8)
    np.testing.assert_allclose(e.values.numpy(), oracle, rtol=0, atol=1e-6 * np.abs(oracle).max())
    assert any("units of y" in note if name in AFFINE else "not the mean" in note for note in e.provenance.notes)


def test_a_scaled_target_has_the_variances_and_error_bars_of_the_scaled_model() -> None:
    model = TransformedTargetRegressor(gp(), transformer=StandardScaler()).fit(X, POSITIVE)
    inner, scale = model.regressor_, float(model.transformer_.scale_[0])
    shift = float(model.transformer_.mean_[0])
    for target, factor in ((targets.PredictiveVariance(), scale**2), (targets.EpistemicVariance(), scale**2)):
        ours, theirs = (explained(m, target=target).values for m in (model, inner))
        np.testing.assert_allclose(ours.numpy(), factor * theirs.numpy(), rtol=0, atol=1e-9)
    ours, theirs = (explained(m, uncertainty=gplens.Full()) for m in (model, inner))
    assert ours.gaussian
    np.testing.assert_allclose(ours.covariance, scale**2 * theirs.covariance, rtol=0, atol=1e-9)  # type: ignore[operator]
    ours = explained(model, target=targets.Exceeds(1.5))
    theirs = explained(inner, target=targets.Exceeds((1.5 - shift) / scale))
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=1e-9)


def test_an_inverse_of_a_mean_has_no_error_bars_and_the_mean_of_the_inverse_has() -> None:
    model = OUTCOMES["logarithm"]().fit(X, POSITIVE)
    with pytest.raises(ValueError, match=r"uncertainty.*FunctionTransformer"):
        explained(model, uncertainty=gplens.Diagonal())
    e = explained(model, target=targets.Custom(links.Exp()), uncertainty=gplens.Diagonal())
    theirs = gplens.explain(model.regressor_, ROWS, baseline=BASE, target=targets.Custom(links.Exp()))
    np.testing.assert_allclose(e.values, theirs.values, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match=r"Var\[y\|f\]"):
        explained(model, target=targets.PredictiveVariance())


def test_a_target_without_a_known_inverse_is_refused() -> None:
    model = TransformedTargetRegressor(gp(), transformer=QuantileTransformer(n_quantiles=10)).fit(X, POSITIVE)
    with pytest.raises(ValueError, match=r"QuantileTransformer.*regressor_"):
        explained(model)


@pytest.mark.parametrize("kind", [GridSearchCV, RandomizedSearchCV, HalvingGridSearchCV])
def test_a_search_is_explained_by_its_best_estimator(kind: Any) -> None:
    parameters = {"gaussianprocessregressor__alpha": [0.05, 0.2]}
    options = {"n_iter": 2, "random_state": 0} if kind is RandomizedSearchCV else {}
    with warnings.catch_warnings(action="ignore"):
        search = kind(make_pipeline(PowerTransformer(), gp()), parameters, cv=2, **options).fit(X, Y)
    e, best = explained(search), explained(search.best_estimator_)
    np.testing.assert_array_equal(e.values, best.values)
    np.testing.assert_allclose(e.prediction, search.predict(ROWS), atol=1e-9)
    assert e.provenance.model == f"{kind.__name__} of Pipeline of GaussianProcessRegressor"


def test_a_search_without_a_best_estimator_is_refused() -> None:
    search = GridSearchCV(gp(), {"alpha": [0.05, 0.2]}, cv=2, refit=False).fit(X, Y)
    with pytest.raises(ValueError, match=r"GridSearchCV.*refit=False"):
        explained(search)
    with pytest.raises(ValueError, match=r"GridSearchCV.*fit\(X, y\)"):
        explained(GridSearchCV(gp(), {"alpha": [0.05, 0.2]}))


def test_another_best_estimator_is_noticed() -> None:
    search = GridSearchCV(make_pipeline(StandardScaler(), gp()), {"gaussianprocessregressor__alpha": [0.1]}, cv=2)
    reading = gplens.read(search.fit(X, Y))
    search.fit(X, 2 * Y)
    with pytest.raises(ValueError, match=r"gplens.read\(model\)"):
        explained(reading)


CITIES = pandas.DataFrame({"city": ["Rome", "Oslo", "Bern"] * 10, "x": np.linspace(-1, 1, 30)})


def test_a_classifier_behind_encoders() -> None:
    columns = ColumnTransformer([("city", OneHotEncoder(), ["city"])], remainder="passthrough")
    y = np.where(CITIES["city"] == "Rome", "warm", "cold")
    search = GridSearchCV(make_pipeline(columns, GaussianProcessClassifier(RBF(1.0), optimizer=None)), {}, cv=2)
    model = search.fit(CITIES, y)
    e = gplens.explain(model, CITIES[:3], baseline={"city": "Oslo", "x": 0.0}, uncertainty=gplens.Diagonal())
    ends = model.predict_proba(CITIES[:3])[:, 1], model.predict_proba(pandas.DataFrame({"city": ["Oslo"], "x": 0.0}))
    np.testing.assert_allclose(e.values.sum(1), ends[0] - ends[1][:, 1], atol=1e-7)
    assert e.provenance.output == "P(y = warm)"
    assert [e.labels.input_text(i, 0) for i in range(3)] == ["Rome", "Oslo", "Bern"]
    assert e.labels.baseline_text(0, 0) == "Oslo"
    assert "city = Rome" in " ".join(repr(e).split())
    assert float(e.values[1, 0]) == 0
    assert e.std is not None
    assert float(e.std[1, 0]) == 0 < float(e.std[0, 0])


def test_unseen_categories_are_what_the_encoder_makes_of_them() -> None:
    unseen = pandas.DataFrame({"city": ["Cairo"], "x": [0.5]})
    for how in ("ignore", "error"):
        columns = ColumnTransformer(
            [("city", OneHotEncoder(handle_unknown=how), ["city"]), ("x", "passthrough", ["x"])]
        )
        model = make_pipeline(columns, gp()).fit(CITIES, CITIES["x"])
        if how == "error":
            with pytest.raises(ValueError, match="Cairo"):
                gplens.explain(model, unseen, baseline=CITIES.iloc[0])
        else:
            e = gplens.explain(model, unseen, baseline=CITIES.iloc[0])
            np.testing.assert_allclose(e.prediction, model.predict(unseen), atol=1e-9)


def test_an_encoder_after_a_step_that_mixes_columns_is_refused() -> None:
    steps = StandardScaler(), make_pipeline(PowerTransformer()), KBinsDiscretizer(3, quantile_method="linear")
    mixed = make_pipeline(FunctionTransformer(lambda X: X @ np.ones((3, 3))), *steps[2:], gp())
    mixed.set_params(kbinsdiscretizer__encode="ordinal")
    with pytest.raises(ValueError, match=r"KBinsDiscretizer.* 3.*pipeline\[-1\]"):
        explained(mixed.fit(X, Y))
