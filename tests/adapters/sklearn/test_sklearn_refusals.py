"""What gplens does not explain of scikit-learn, each with what to do instead."""

from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, DotProduct, GenericKernelMixin, Kernel, WhiteKernel
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler
from sklearn_zoo import BY_NAME, fit, iris, moons, plane

import gplens
from conformance.hosts import fitted
from gplens import links


class Doubled(GaussianProcessRegressor):
    """Prints something else than its parts tell."""

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        mean, std = super().predict(X, return_std=True)
        return (2 * mean, std) if return_std else 2 * mean


class Tempered(GaussianProcessClassifier):
    """Prints probabilities of its own."""

    def predict_proba(self, X: Any) -> Any:
        return 0.5 + 0.9 * (super().predict_proba(X) - 0.5)


class Sequences(GenericKernelMixin, Kernel):
    """A kernel of texts."""

    def __init__(self) -> None:
        pass

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        return np.array([[float(x == y) for y in (X if Y is None else Y)] for x in X])

    def diag(self, X: Any) -> Any:
        return np.ones(len(X))

    def is_stationary(self) -> bool:
        return False


def words() -> Any:
    return np.array(["AG", "CT", "GA"]), np.arange(3.0)


def piped(step: Any) -> Any:
    return make_pipeline(step, GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None))


def centred(X: Any) -> Any:
    return X - X.mean(0)


def growing() -> GaussianProcessClassifier:
    return GaussianProcessClassifier(RBF() + DotProduct() * WhiteKernel(), optimizer=None)


CASES = {
    "unfitted regressor": (GaussianProcessRegressor(), None, r"GaussianProcessRegressor.*fit\(X, y\)"),
    "unfitted classifier": (GaussianProcessClassifier(), None, r"GaussianProcessClassifier.*fit\(X, y\)"),
    "pairs of classes": (
        GaussianProcessClassifier(RBF(), multi_class="one_vs_one", optimizer=None),
        iris,
        r"one_vs_rest.* 3 .*estimators_\[0\]",
    ),
    "noise that grows": (growing(), moons, "WhiteKernel"),
    "other prediction": (Doubled(RBF(), alpha=0.1, optimizer=None), plane, "mean of"),
    "other probabilities": (Tempered(RBF(), optimizer=None), moons, "probability of"),
    "an unknown step": (piped(KernelPCA(2)), plane, r"KernelPCA.*\[:-1\]"),
    "own function of rows": (piped(FunctionTransformer(centred)), plane, r"centred of 3 columns.*\[:-1\]"),
    "unfitted pipeline": (piped(MinMaxScaler()), None, "MinMaxScaler .* not fitted"),
    "structured inputs": (GaussianProcessRegressor(Sequences(), optimizer=None), words, "RBF.* Sequences"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_with_the_remedy(name: str) -> None:
    model, data, message = CASES[name]
    X = np.zeros((2, 3)) if data in (None, words) else data()[0][:2]
    model = model if data is None else fit(model, *data())
    with pytest.raises(ValueError, match=message):
        gplens.explain(model, X, baseline=0.0)


def test_other_estimators_are_named() -> None:
    X, y = plane()
    for model in (Ridge().fit(X, y), make_pipeline(MinMaxScaler(), Ridge()).fit(X, y)):
        with pytest.raises(TypeError, match=r"GaussianProcessRegressor.* Ridge"):
            gplens.explain(model, X, baseline=0.0)


@pytest.mark.parametrize("name", ["two targets", "iris", "standardised"])
def test_the_number_of_columns_is_checked(name: str) -> None:
    subject = fitted(BY_NAME[name])
    with pytest.raises(ValueError, match=r" [34] columns.* 2"):
        gplens.explain(subject.model, subject.X[:, :2], baseline=0.0)


def test_a_regressor_keeps_its_likelihood() -> None:
    subject = fitted(BY_NAME["two targets"])
    with pytest.raises(ValueError, match=r"GaussianProcessRegressor's Gaussian.*Exp\(\)"):
        gplens.explain(subject.model, subject.X, baseline=0.0, likelihood=links.Exp())


def test_one_pair_of_a_one_versus_one_classifier_can_be_explained() -> None:
    X, y = iris()
    model = fit(GaussianProcessClassifier(RBF(), multi_class="one_vs_one", optimizer=None), X, y)
    pair = model.base_estimator_.estimators_[0]
    e = gplens.explain(pair, X[:3], baseline=X.mean(0))
    np.testing.assert_allclose(e.prediction.numpy(), pair.predict_proba(X[:3])[:, 1], atol=1e-10)
