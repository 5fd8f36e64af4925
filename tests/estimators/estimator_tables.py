"""Small tables, and an estimator of every kind fitted to one."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gplens.estimators import (
    EarlyStopping,
    GPClassifier,
    GPCountRegressor,
    GPRegressor,
    GPVarianceRegressor,
    Training,
)

QUICK = Training(steps=60, stopping=EarlyStopping(tolerance=1e-2, every=10, patience=1))
SMALL: dict[str, Any] = {"inducing_points": 15, "training": QUICK, "random_state": 0}


def table(rows: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three columns in units of their own, and a latent function of them."""
    X = np.random.default_rng(seed).normal(size=(rows, 3)) * [1.0, 100.0, 0.01] + [5.0, 0.0, 1.0]
    return X, np.sin(2 * (X[:, 0] - 5)) + X[:, 1] / 100


def real(f: np.ndarray) -> np.ndarray:
    return 1000 + 50 * f + np.random.default_rng(1).normal(size=len(f))


def counts(f: np.ndarray) -> np.ndarray:
    return np.random.default_rng(1).poisson(np.exp(f + 1)).astype(float)


def scattered(f: np.ndarray) -> np.ndarray:
    return 30 * f * np.random.default_rng(1).normal(size=len(f))


def two(f: np.ndarray) -> np.ndarray:
    return np.where(f > 0, "yes", "no")


def three(f: np.ndarray) -> np.ndarray:
    return np.digitize(f, [-0.5, 0.5]) * 10


KINDS: dict[str, tuple[Callable[[], Any], Callable[[np.ndarray], np.ndarray]]] = {
    "exact": (lambda: GPRegressor("rbf", random_state=0), real),
    "sparse": (lambda: GPRegressor(exact_rows=1, **SMALL), real),
    "rational": (lambda: GPRegressor("rational_quadratic", exact_rows=1, ard=False, **SMALL), real),
    "collapsed": (lambda: GPRegressor(exact_rows=1, inducing_points=15, random_state=0), real),
    "count": (lambda: GPCountRegressor("matern52", **SMALL), counts),
    "probit sites": (lambda: GPClassifier(inducing_points=15, random_state=0), two),
    "variance": (lambda: GPVarianceRegressor(**SMALL), scattered),
    "probit": (lambda: GPClassifier(**SMALL), two),
    "logistic": (lambda: GPClassifier(link="logistic", inducing_points=15, random_state=0), two),
    "softmax": (lambda: GPClassifier("matern32", **SMALL), three),
    "softmax sites": (lambda: GPClassifier(shared=False, inducing_points=15, random_state=0), three),
    "own kernels": (lambda: GPClassifier(shared=False, inducing="first", **SMALL), three),
}
"""Joining this list is joining the contract of predictions, explanations and files."""
TWO_CLASSES = ("probit", "probit sites", "logistic")
"""Those that explain the probability of their second class."""


@cache
def fitted(kind: str) -> Any:
    make, observe = KINDS[kind]
    X, f = table()
    return make().fit(X, observe(f))
