"""EVERY_MODEL: the examples of scikit-learn's own documentation, fitted, and what else its models can be."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import load_iris, make_friedman2, make_moons
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.gaussian_process import GaussianProcessClassifier as Classifier
from sklearn.gaussian_process import GaussianProcessRegressor as Regressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Kernel,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from conformance.hosts import Array, Fitted, HostCase

Data = tuple[Array, Any]


def fit(model: Any, X: Array, y: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):  # hyperparameters at their bounds, as in the documentation
        return model.fit(X, y)


def case(
    name: str,
    model: Callable[[], Any],
    data: Callable[[], Data],
    predicted: Callable[[Any, Array], Array] = lambda model, X: model.predict(X),
    **facts: Any,
) -> HostCase:
    def fitted() -> Fitted:
        X, y = data()
        subject = fit(model(), X, y)
        return Fitted(subject, X[[1, -2, len(X) // 2]] + 0.03 * X.std(0), X.mean(0))

    return HostCase(name, fitted, lambda subject, X: predicted(subject.model, X), **facts)


def probability(model: Any, X: Array) -> Array:
    """P(y = classes_[1])."""
    return model.predict_proba(X)[:, 1]


def probabilities(model: Any, X: Array) -> Array:
    return model.predict_proba(X)


def friedman() -> Data:
    return make_friedman2(n_samples=40, noise=30, random_state=0)


def wave() -> Data:
    """x sin(x), of the introductory examples."""
    X = np.linspace(0, 10, 30)[:, None]
    return X, np.ravel(X * np.sin(X)) + np.random.RandomState(1).normal(0, 0.3, 30)


def carbon() -> Data:
    """The shape of the Mauna Loa record: a trend, seasons, noise."""
    t = np.linspace(0, 4, 60)
    noise = np.random.RandomState(0).normal(0, 0.2, 60)
    return t[:, None], 315 + 1.5 * t + 0.05 * t**2 + 3 * np.sin(2 * np.pi * t) + noise


def plane() -> Data:
    X = np.random.RandomState(2).normal(size=(30, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.random.RandomState(3).normal(0, 0.1, 30)


def two_targets() -> Data:
    X, y = plane()
    return X, np.stack([10 + 3 * y, np.cos(X[:, 0]) - X[:, 2]], axis=1)


def iris() -> Data:
    X, y = load_iris(return_X_y=True)
    return X[::4], y[::4]


def named_iris() -> Data:
    X, y = iris()
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def xor() -> Data:
    X = np.random.RandomState(0).normal(size=(60, 2))
    return X, np.logical_xor(X[:, 0] > 0, X[:, 1] > 0)


def moons() -> Data:
    return make_moons(40, noise=0.2, random_state=0)


def regressor(name: str, kernel: Kernel | None, data: Callable[[], Data], **options: Any) -> HostCase:
    facts = {key: options.pop(key) for key in ("panels", "error_bars") if key in options}
    return case(name, lambda: Regressor(kernel, random_state=0, **options), data, **facts)


WAVES = (0.5, 10.0)
"""Bounds of a lengthscale: without them the noise of some examples is fitted as a function."""
MAUNA_LOA = (
    50.0**2 * RBF(length_scale=50.0)
    + 2.0**2 * RBF(length_scale=100.0) * ExpSineSquared(length_scale=1.0, periodicity=1.0, periodicity_bounds="fixed")
    + 0.5**2 * RationalQuadratic(length_scale=1.0, alpha=1.0, length_scale_bounds=WAVES)
    + 0.1**2 * RBF(length_scale=1.0, length_scale_bounds=WAVES)
    + WhiteKernel(noise_level=0.1**2, noise_level_bounds=(1e-5, 1e5))
)

REGRESSORS = [
    regressor("friedman, dot product and noise", DotProduct() + WhiteKernel(), friedman),
    regressor("no kernel given", None, plane, alpha=0.1),
    regressor("wave, rbf, alpha for each point", 1.0 * RBF(1.0, WAVES), wave, alpha=np.linspace(0.1, 0.5, 30) ** 2),
    regressor("wave, rbf and noise, restarted", 1.0 * RBF(1.0, WAVES) + WhiteKernel(), wave, n_restarts_optimizer=1),
    regressor("mauna loa", MAUNA_LOA, carbon, normalize_y=True, panels=40),
    regressor("wave, seasons", 1.0 * ExpSineSquared(1.0, 5.0) + WhiteKernel(1e-1), wave),
    regressor("wave, rational quadratic", 1.0 * RationalQuadratic(1.0, 0.1, WAVES), wave, alpha=0.1),
    regressor("wave, dot product squared", ConstantKernel(0.1, (0.01, 10.0)) * DotProduct(1.0) ** 2, wave, alpha=0.1),
    regressor("wave, matern 3/2", 1.0 * Matern(1.0, nu=1.5), wave, alpha=0.1, panels=60),
    regressor("plane, ard matern 5/2 and noise", 1.0 * Matern(np.ones(3), nu=2.5) + WhiteKernel(), plane, panels=30),
    regressor("plane, matern 1.8", 1.0 * Matern(2.0, nu=1.8), plane, alpha=0.05, optimizer=None, panels=60),
    regressor("plane, powers and products", (RBF(2.0) + 0.3) ** 1.5 * Matern(3.0, nu=2.5) + 0.1, plane, alpha=0.1),
    regressor("plane, noise inside a product", RBF(2.0) * (RBF(1.0) + WhiteKernel(0.2)), plane, optimizer=None),
    regressor("plane, noise that grows", RBF(2.0) + 0.1 * DotProduct(1.0) * WhiteKernel(0.2), plane, optimizer=None),
    regressor("plane, a pairwise polynomial", PairwiseKernel(metric="poly", gamma=0.3) + WhiteKernel(), plane),
    regressor("plane, a pairwise sigmoid", PairwiseKernel(metric="sigmoid", gamma=0.1) + RBF(), plane, alpha=0.1),
    regressor("two targets, normalised", 1.0 * RBF(np.ones(3)) + WhiteKernel(), two_targets, normalize_y=True),
    regressor("two targets", 1.0 * RBF(2.0) + WhiteKernel(), two_targets),
]


def classifier(
    name: str, kernel: Kernel | None, data: Callable[[], Data], classes: int = 2, **options: Any
) -> HostCase:
    predicted = probability if classes == 2 else probabilities
    facts = {"panels": options.pop("panels", 8), "error_bars": classes == 2}
    return case(name, lambda: Classifier(kernel, random_state=0, **options), data, predicted, **facts)


CLASSIFIERS = [
    classifier("iris", 1.0 * RBF(1.0), iris, classes=3),
    classifier("iris, ard, names", 1.0 * RBF([1.0, 1.0, 1.0, 1.0]), named_iris, classes=3, optimizer=None),
    classifier("xor, rbf", 1.0 * RBF(1.0), xor),
    classifier("xor, dot product squared", 1.0 * DotProduct(1.0) ** 2, xor, panels=30),
    classifier("moons, rbf and noise", 1.0 * RBF(1.0) + WhiteKernel(0.3), moons, optimizer=None),
    classifier("moons, matern, one versus one", 2.0 * Matern(nu=2.5), moons, multi_class="one_vs_one", panels=30),
]

PIPELINES = [
    case(
        "standardised",
        lambda: make_pipeline(StandardScaler(), Regressor(1.0 * RBF() + WhiteKernel(), normalize_y=True)),
        friedman,
    ),
    case(
        "whitened principal components",
        lambda: make_pipeline(
            MinMaxScaler(), PCA(3, whiten=True), Regressor(RBF(np.ones(3)), alpha=0.1, normalize_y=True, optimizer=None)
        ),
        friedman,
    ),
    case(
        "columns, robust, singular vectors",
        lambda: make_pipeline(
            make_column_transformer((StandardScaler(), [2, 0]), (MaxAbsScaler(), [1]), remainder="passthrough"),
            "passthrough",
            RobustScaler(),
            VarianceThreshold(),
            TruncatedSVD(3, random_state=0),
            Regressor(1.0 * RBF(), alpha=0.1, optimizer=None),
        ),
        friedman,
    ),
    case(
        "two targets, scaled",
        lambda: make_pipeline(StandardScaler(with_mean=False), Regressor(RBF(2.0), alpha=0.1, normalize_y=True)),
        two_targets,
    ),
    case(
        "powers, products, the logarithm of the target",
        lambda: TransformedTargetRegressor(
            make_pipeline(PowerTransformer(), PolynomialFeatures(2), Regressor(RBF(4.0), alpha=0.1, optimizer=None)),
            func=np.log,
            inverse_func=np.exp,
        ),
        friedman,
        error_bars=False,
    ),
    case(
        "iris, standardised",
        lambda: make_pipeline(StandardScaler(), Classifier(1.0 * RBF(1.0), optimizer=None)),
        iris,
        probabilities,
        error_bars=False,
    ),
]

EVERY_MODEL: list[HostCase] = [*REGRESSORS, *CLASSIFIERS, *PIPELINES]  # joining this list is joining the contract
BY_NAME = {subject.name: subject for subject in EVERY_MODEL}
