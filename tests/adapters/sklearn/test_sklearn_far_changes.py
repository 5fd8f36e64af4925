"""Changes that no point of a call shows: inputs, baselines and their middles are far from all data, paths pass them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import gplens

RANDOM = np.random.default_rng(0)
X = np.stack([np.linspace(0, 20, 41), RANDOM.normal(size=41)], axis=1)
Y = np.sin(X[:, 0]) + X[:, 1]
FAR, ZERO = np.array([[54.0, 0.3]]), np.array([-6.0, 0.0])


class Scaled(GaussianProcessRegressor):
    """A user's class, whose prediction depends on a number of the class."""

    factor = 1.0

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        y = super().predict(X, return_std=return_std, return_cov=return_cov)
        return (self.factor * y[0], y[1]) if isinstance(y, tuple) else self.factor * y


def halved(self: Any, X: Any, predict: Any = GaussianProcessRegressor.predict, **options: Any) -> Any:
    m, std = predict(self, X, **options)
    return 0.5 * m, std


def fixed(kernel: Kernel) -> Kernel:
    """Fixed parameters are not in theta."""
    return ConstantKernel(1.0, "fixed") * kernel


def regressor(kind: type = GaussianProcessRegressor) -> Any:
    return kind(fixed(Matern(0.3, "fixed", nu=1.5)), alpha=0.01, optimizer=None).fit(X, Y)


def classifier() -> Any:
    return GaussianProcessClassifier(fixed(RBF(0.3, "fixed")), optimizer=None).fit(X, Y > 0)


def pipeline() -> Any:
    step = FunctionTransformer(np.copy, check_inverse=False)
    last = GaussianProcessRegressor(RBF(0.3, "fixed"), alpha=0.01, optimizer=None)
    return make_pipeline(StandardScaler(), step, last).fit(X, Y)


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any, pytest.MonkeyPatch], None], str]] = {
    "fixed lengthscale": (regressor, lambda model, patch: setattr(model.kernel_.k2, "length_scale", 0.2), "k2.length"),
    "order of Matern": (regressor, lambda model, patch: setattr(model.kernel_.k2, "nu", 2.5), "k2.nu"),
    "class of a kernel": (regressor, lambda model, patch: setattr(model.kernel_, "k2", RBF(0.3, "fixed")), "k2"),
    "binary classifier": (
        classifier,
        lambda model, patch: setattr(model.base_estimator_.kernel_.k2, "length_scale", 0.2),
        "k2.length",
    ),
    "method of one model": (
        regressor,
        lambda model, patch: setattr(model, "predict", lambda X, return_std=False: (X[:, 0], X[:, 0])),
        "predict",
    ),
    "method of all models": (
        regressor,
        lambda model, patch: patch.setattr(GaussianProcessRegressor, "predict", halved),
        "its own prediction",
    ),
    "function of a step": (pipeline, lambda model, patch: setattr(model[1], "func", np.array), "FunctionTransformer"),
    "number of a class": (
        lambda: regressor(Scaled),
        lambda model, patch: patch.setattr(Scaled, "factor", 2.0),
        "its own prediction",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_far_from_the_points_of_a_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, change, message = CHANGES[name]
    model = make()
    prepared = gplens.read(model)
    gplens.explain(prepared, FAR, baseline=ZERO, support=False, tolerance=0.01)
    change(model, monkeypatch)
    with pytest.raises(ValueError, match=rf"{message}.*gplens\.read\(model\)"):
        gplens.explain(prepared, FAR, baseline=ZERO, support=False, tolerance=0.01)


def test_what_changes_nothing_is_not_refused() -> None:
    """Options, and the kernel of the next fit."""
    model = regressor()
    prepared = gplens.read(model)
    model.set_params(kernel=RBF(2.0), copy_X_train=False)
    gplens.explain(prepared, FAR, baseline=ZERO, support=False, tolerance=0.01)
