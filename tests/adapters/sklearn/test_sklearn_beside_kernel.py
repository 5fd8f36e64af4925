"""A Reading of a scikit-learn regressor in later calls: its numbers and its kernel are compared, or its predictions."""

from types import MethodType
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import gplens
from gplens.adapters.sklearn import regressor

X = np.random.default_rng(0).uniform(size=(12, 2))
Y = np.sin(4 * X[:, 0]) + X[:, 1] + 2
BASELINE = torch.as_tensor(X.mean(0))
HIDDEN = np.ones(1)


class OwnRegressor(GaussianProcessRegressor):
    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        return super().predict(X * HIDDEN[0], return_std, return_cov)


@pytest.fixture(autouse=True)
def restored() -> Any:
    yield
    HIDDEN[0] = 1.0


def fitted(kind: type = GaussianProcessRegressor) -> Any:
    return kind(RBF(0.6) + WhiteKernel(0.01), optimizer=None, normalize_y=True).fit(X, Y)


def values(prepared: Any) -> torch.Tensor:
    return gplens.explain(prepared, X[:1], baseline=BASELINE, support=False).values


def warmed(model: Any) -> gplens.Reading:
    prepared = gplens.read(model)
    for _ in range(3):
        values(prepared)
    return prepared


def test_later_calls_do_not_predict(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted()
    prepared = warmed(model)

    def never(*args: Any, **options: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(regressor, "predict", never)
    explanation = gplens.explain(prepared, X[:1], baseline=BASELINE)
    assert any("so is its kernel" in note for note in explanation.provenance.notes)
    monkeypatch.undo()
    torch.testing.assert_close(explanation.values, values(model), rtol=1e-12, atol=1e-12)


def changed_alpha(model: Any) -> None:
    model.alpha_ = 1.1 * model.alpha_


def changed_factor_in_place(model: Any) -> None:
    model.L_[0, 0] *= 1.1


def another_kernel(model: Any) -> None:
    model.kernel_ = RBF(0.5) + WhiteKernel(0.01)


def another_prediction(model: Any) -> None:
    def predict(self: Any, X: Any, return_std: bool = False) -> Any:
        return GaussianProcessRegressor.predict(self, 1.2 * X, return_std)

    model.predict = MethodType(predict, model)


CHANGES = (changed_alpha, changed_factor_in_place, another_kernel, another_prediction)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_changes_are_refused(change: Any) -> None:
    model = fitted()
    prepared = warmed(model)
    change(model)
    with pytest.raises(ValueError, match=r"read\(model\) again"):
        values(prepared)


def test_a_prediction_of_the_users_own_is_compared_as_such() -> None:
    prepared = warmed(fitted(OwnRegressor))
    HIDDEN[0] = 1.2
    with pytest.raises(ValueError, match=r"read\(model\) again"):
        values(prepared)


def test_a_kernel_that_computes_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also far from all data, where it is zero between the points of the call and the support points."""
    original: Any = RBF.__call__
    prepared = warmed(fitted())

    def scaled(self: Any, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        return 1.2 * original(self, X, Y, eval_gradient)

    monkeypatch.setattr(RBF, "__call__", scaled)
    for x in (X[:1], X[:1] + 1e3):
        with pytest.raises(ValueError, match=r"read\(model\) again"):
            gplens.explain(prepared, x, baseline=x[0] + 1, support=False)
