"""The prior of lengthscales in regression, and the least noise: what they are, and that they do what they are for."""

import numpy as np
import pytest
import torch
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from gplens.estimators import GPRegressor
from gplens.estimators.training.climb import log_prior, long_width
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure


@pytest.mark.parametrize(("rows", "factor"), [(8, 0.8), (50, 2.5), (1000, 6.0)])
def test_the_prior_has_two_sides(rows: int, factor: float) -> None:
    """scipy's normal densities of log lengthscales, one for each side of the typical distance (6.18)."""
    lengthscales = torch.tensor([[0.05, 0.7, 3.0, 900.0]], dtype=torch.float64)
    structure = Structure.of("rbf", 4, True, (), 0.0, 2.0)
    at = Hyperparameters(lengthscales.log(), torch.zeros(1, dtype=torch.float64))
    wide = long_width(rows, 4)
    assert wide == pytest.approx(3**0.5 * factor)
    z, scale = np.log(lengthscales.numpy()[0] / 2.0), np.array([3**0.5] * 2 + [wide] * 2)
    expected = (norm.logpdf(z, 0, scale) - norm.logpdf(0, 0, scale)).sum()
    assert float(log_prior(at, structure, wide)) == pytest.approx(expected, rel=1e-12)


def test_columns_without_effect_are_let_go_of() -> None:
    """Nine of ten columns have no effect: new rows are predicted nearly as by scikit-learn from the one that has."""
    r = np.random.default_rng(3)
    X = r.uniform(-1, 1, size=(1200, 10))
    y = np.sin(5 * X[:, 4]) + 0.3 * r.normal(size=1200)
    model = GPRegressor(random_state=0, progress=False).fit(X[:200], y[:200])
    one, kernel = X[:, 4:5], ConstantKernel() * Matern(nu=2.5) + WhiteKernel(0.1)
    told = GaussianProcessRegressor(kernel, normalize_y=True).fit(one[:200], y[:200])
    theirs = norm(*told.predict(one[200:], return_std=True)).logpdf(y[200:]).mean()
    assert model.log_density(X[200:], y[200:]).mean() > theirs - 0.01


def test_targets_without_noise_are_predicted_closely() -> None:
    """The noise of results of a program: far below the 1e-4 of the variance that GPyTorch's own constraint allows."""
    r = np.random.default_rng(4)
    X = r.uniform(-1, 1, size=(250, 2))
    y = np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1])
    model = GPRegressor(random_state=0, progress=False).fit(X[:150], y[:150])
    assert float(model.likelihood_.noise) < 1e-5 * y.var()
    assert np.median(np.abs(model.predict(X[150:]) - y[150:])) < 1e-3
    e = model.explain(X[150:153], baseline=X[0])
    np.testing.assert_allclose(e.values.sum(1), model.predict(X[150:153]) - model.predict(X[:1]), atol=1e-6)
