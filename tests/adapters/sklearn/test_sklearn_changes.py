"""A model that changes between two calls is explained as it is now, and a Reading from before the change is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gplens

RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(30, 2))
Y = np.sin(X[:, 0]) + X[:, 1]
LABELS = np.digitize(Y, [-0.5, 0.5])


def regressor() -> Any:
    kernel = 1.0 * RBF([1.0, 2.0]) + WhiteKernel(0.1)
    return GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(X, Y)


def binary() -> Any:
    return GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=None).fit(X, LABELS > 0)


def several() -> Any:
    return GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=None).fit(X, LABELS)


def pipeline() -> Any:
    return make_pipeline(StandardScaler(), GaussianProcessRegressor(RBF(1.0), alpha=0.1, optimizer=None)).fit(X, Y)


def lengthscale(model: Any) -> None:
    model.kernel_.k1.k2.length_scale = np.array([1.02, 2.02])


def weights(model: Any) -> None:
    model.alpha_ *= 1.5


def fitted_again(model: Any) -> None:
    model.fit(X, Y + X[:, 0] ** 2) if isinstance(model, GaussianProcessRegressor) else model.fit(X, X[:, 0] > 0.3)


def target_scale(model: Any) -> None:
    model._y_train_std = model._y_train_std * 2


def patched_predict(model: Any) -> None:
    model.predict = lambda X, return_std=False: (X[:, 0], X[:, 0])


def first_lengthscale(model: Any) -> None:
    base = model.base_estimator_
    getattr(base, "estimators_", [base])[0].kernel_.k2.length_scale = 0.5


def labels(model: Any) -> None:
    model.classes_ = np.array(["no", "yes"])
    model.base_estimator_.classes_ = model.classes_


def patched_probabilities(model: Any) -> None:
    model.predict_proba = lambda X: np.stack([X[:, 0], 1 - X[:, 0]], axis=1)


def mean_of_the_scaler(model: Any) -> None:
    model[0].mean_ += 0.5


def other_scaler(model: Any) -> None:
    model.steps[0] = ("standardscaler", StandardScaler().fit(2 * X + 1))


def other_regressor(model: Any) -> None:
    model.steps[-1] = ("last", GaussianProcessRegressor(RBF(2.0), alpha=0.1, optimizer=None).fit(X, Y))


CASES: list[tuple[Callable[[], Any], Callable[[Any], None]]] = [
    (regressor, lengthscale),
    (regressor, weights),
    (regressor, fitted_again),
    (regressor, target_scale),
    (binary, fitted_again),
    (binary, first_lengthscale),
    (several, first_lengthscale),
    (several, fitted_again),
    (pipeline, mean_of_the_scaler),
    (pipeline, other_scaler),
    (pipeline, other_regressor),
]


def predicted(model: Any) -> Any:
    if not isinstance(model, GaussianProcessClassifier):
        return model.predict(X[:3])
    p = model.predict_proba(X[:3])
    return p[:, 1] if p.shape[1] == 2 else p


@pytest.mark.parametrize(("make", "change"), CASES, ids=lambda part: part.__name__)
def test_a_changed_model_is_explained_as_it_is_now(make: Callable[[], Any], change: Callable[[Any], None]) -> None:
    model = make()
    reading, before = gplens.read(model), gplens.explain(model, X[:3], baseline=0.0)
    np.testing.assert_allclose(gplens.explain(reading, X[:3], baseline=0.0).values, before.values, atol=1e-9)
    change(model)
    with pytest.raises(ValueError, match=r"gplens\.read\(model\)"):
        gplens.explain(reading, X[:3], baseline=0.0)
    after = gplens.explain(model, X[:3], baseline=0.0)
    np.testing.assert_allclose(after.prediction.numpy(), predicted(model), atol=1e-8)
    assert after.values.shape != before.values.shape or (after.values - before.values).abs().max() > 1e-4


@pytest.mark.parametrize(
    ("make", "change"),
    [(regressor, patched_predict), (binary, patched_probabilities)],
    ids=lambda part: part.__name__,
)
def test_a_patched_method_is_refused(make: Callable[[], Any], change: Callable[[Any], None]) -> None:
    model = make()
    reading = gplens.read(model)
    change(model)
    for subject, message in ((reading, "whose predict"), (model, r"-?\d+\.\d+ .* -?\d+\.\d+")):
        with pytest.raises(ValueError, match=message):
            gplens.explain(subject, X[:3], baseline=0.0)


def test_the_white_noise() -> None:
    model, target = regressor(), gplens.targets.PredictiveVariance()
    reading = gplens.read(model)
    model.kernel_.k2.noise_level = 0.4
    with pytest.raises(ValueError, match=r"kernel_.*gplens\.read\(model\)"):
        gplens.explain(reading, X[:3], baseline=0.0, target=target)
    after = gplens.explain(model, X[:3], baseline=0.0, target=target)
    np.testing.assert_allclose(after.prediction.numpy(), model.predict(X[:3], return_std=True)[1] ** 2, atol=1e-8)


def test_the_names_of_the_classes() -> None:
    model = binary()
    reading = gplens.read(model)
    assert reading.likelihood is not None
    assert reading.likelihood.outputs == ("P(y = class True)",)
    labels(model)
    with pytest.raises(ValueError, match=r"class True.*yes"):
        gplens.explain(reading, X[:3], baseline=0.0)
    renamed = gplens.read(model).likelihood
    assert renamed is not None
    assert renamed.outputs == ("P(y = yes)",)
    classes = gplens.read(several()).likelihood
    assert classes is not None
    assert classes.outputs == ("class 0", "class 1", "class 2")


def test_a_change_that_shows_only_between_the_points_of_comparison_is_noticed() -> None:
    """The data lie near x = 5; input, baseline and the point half-way between them are all far away from it."""
    generator = np.random.default_rng(0)
    X = 5 + 0.3 * generator.normal(size=(20, 2))
    model = GaussianProcessRegressor(RBF([0.5, 0.5]), alpha=0.1, optimizer=None).fit(X, X.sum(1))
    prepared = gplens.read(model)
    model.alpha_ = 3 * model.alpha_
    with pytest.raises(ValueError, match=r"alpha_.*gplens\.read"):
        gplens.explain(prepared, np.array([[20.0, 20.0]]), baseline=[-5.0, -5.0])
