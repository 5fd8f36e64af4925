"""The prior of hyperparameters in regression, its limits, and the choice of the kernel: what they are, and what for."""

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from mpmath import exp, log, mpf
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from gplens.estimators import GPRegressor, exact_regression
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.regression_prior import limits, log_prior


def _at(lengthscales: list[float], variance: float, noise: float) -> Hyperparameters:
    logs = (torch.tensor(values, dtype=torch.float64).log() for values in (lengthscales, [variance], noise))
    length, scale, quiet = logs
    return Hyperparameters(length[None], scale, None, torch.zeros((), dtype=torch.float64), quiet)


@pytest.mark.parametrize("lengthscales", [[0.1, 0.7, 3.0, 900.0], [40.0, 50.0, 6000.0], [2.0], [0.3]])
def test_the_prior_is_that_of_the_equation(lengthscales: list[float]) -> None:
    """mpmath, term by term, with a typical distance of two (6.18)."""
    variance, noise = 40.0, 0.01
    u = [log(mpf(length) / 2) for length in lengthscales]
    c = -log(sum(exp(-2 * each) for each in u) / len(u)) / 2
    columns = sum(exp(-4 * (each - c) ** 2) - 1 if each > c else -((each - c) ** 2) / 2 for each in u)
    width = 3 if c > 0 else 1
    expected = columns - c**2 / (2 * width**2) - log(noise / mpf("0.2")) ** 2 / (2 * mpf("1.5") ** 2)
    structure = Structure.of("rbf", len(u), True, (), 0.0, 2.0)
    assert float(log_prior(_at(lengthscales, variance, noise), structure)) == pytest.approx(float(expected), rel=1e-12)


def test_the_variance_is_limited() -> None:
    structure = Structure.of("rbf", 2, True, (), 0.0, 2.0)
    bounds = limits(_at([1.0, 2.0], 1.0, 0.1), structure, 1e-6)
    assert np.exp(bounds.ub[2]) == pytest.approx(1e3)
    assert np.exp(bounds.lb[4]) == pytest.approx(1e-6)


def test_columns_without_effect_are_let_go_of() -> None:
    """Nine of ten columns have no effect: new rows are predicted nearly as by scikit-learn from the one that has."""
    r = np.random.default_rng(3)
    X = r.uniform(-1, 1, size=(1200, 10))
    y = np.sin(5 * X[:, 4]) + 0.3 * r.normal(size=1200)
    model = GPRegressor(random_state=0, progress=False).fit(X[:200], y[:200])
    told = GaussianProcessRegressor(ConstantKernel() * Matern(nu=2.5) + WhiteKernel(0.1), normalize_y=True)
    mean, deviation = told.fit(X[:200, 4:5], y[:200]).predict(X[200:, 4:5], return_std=True)
    expected: Any = norm(mean, deviation)
    assert model.log_density(X[200:], y[200:]).mean() > expected.logpdf(y[200:]).mean() - 0.01


@pytest.mark.parametrize("rows", [40, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize("power", [1, 2])
def test_targets_without_noise_are_predicted_closely_and_explained(rows: int, power: int) -> None:
    """Linear and quadratic functions, where variances of 1e5 left attributions that did not converge."""
    r = np.random.default_rng(4)
    X = r.normal(size=(rows + 100, 3))
    y = (X @ [3.0, -2.0, 0.5]) ** power
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the linear model, which is better where the function is linear
        model = GPRegressor(random_state=0, progress=False).fit(X[:rows], y[:rows])
    assert np.median(np.abs(model.predict(X[rows:]) - y[rows:])) < 0.02 * y.std()
    explanation = model.explain(X[:5], baseline=X[9], uncertainty=True)
    assert bool(torch.as_tensor(explanation.converged).all())
    np.testing.assert_allclose(explanation.values.sum(1), y[:5] - y[9], atol=0.02 * y.std())
    assert bool(torch.as_tensor(model.explain(X[:5]).converged).all())


@pytest.mark.slow
def test_intervals_of_few_rows_of_noise_are_wide() -> None:
    """Of 25 targets with little beside noise, 90 % intervals contain 84 % to 96 % of new ones, over 40 tables."""
    inside = []
    for seed in range(40):
        r = np.random.default_rng(seed)
        X = r.normal(size=(425, 2))
        y = 0.5 * X[:, 0] + r.normal(size=425)
        mean, deviation = GPRegressor(progress=False).fit(X[:25], y[:25]).predict(X[25:], return_std=True)
        inside.append((np.abs(y[25:] - mean) < 1.6449 * deviation).mean())
    assert 0.84 < np.mean(inside) < 0.96


def test_variances_have_the_degrees_of_freedom_of_the_lengthscales_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of five columns matter: the same mean, with a larger variance, by the lengthscales of the model (6.19)."""
    r = np.random.default_rng(7)
    X = r.normal(size=(40, 5))
    y = X[:, 0] + np.sin(X[:, 1]) + X[:, 2] ** 2 + 0.1 * r.normal(size=40)
    mean, deviation = (wide := GPRegressor("rbf", scaling="none").fit(X, y)).predict(X[:9] + 1, return_std=True)
    monkeypatch.setattr(exact_regression, "widened", lambda at, structure, rows: at)
    same, narrow = GPRegressor("rbf", scaling="none").fit(X, y).predict(X[:9] + 1, return_std=True)
    lengthscale = wide.model_.covar_module.base_kernel.lengthscale.detach().numpy()[0]
    ratio = np.sqrt(np.mean(1 / lengthscale**2)) * lengthscale
    used = np.exp(-4 * np.log(np.maximum(ratio, 1)) ** 2).sum()
    assert 1 < used < 4.5
    np.testing.assert_allclose(same, mean, rtol=1e-9)
    np.testing.assert_allclose(deviation**2, narrow**2 * 40 / (40 - used), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "columns"), [(20, 5), (60, 8)])
def test_intervals_of_few_rows_with_many_columns_cover(
    rows: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over 40 tables, 87 % to 93 % of new targets are in 90 % intervals; fewer without the degrees of freedom."""

    def inside() -> float:
        parts = []
        for seed in range(40):
            r = np.random.default_rng(seed)
            X = r.normal(size=(rows + 400, columns))
            y = X @ r.normal(size=columns) + r.normal(size=rows + 400)
            mean, deviation = GPRegressor(progress=False).fit(X[:rows], y[:rows]).predict(X[rows:], return_std=True)
            parts.append((np.abs(y[rows:] - mean) < 1.6449 * deviation).mean())
        return float(np.mean(parts))

    assert 0.87 < (covered := inside()) < 0.93
    monkeypatch.setattr(exact_regression, "widened", lambda at, structure, rows: at)
    assert inside() < covered - 0.01


def test_the_kernel_is_the_one_that_explains_the_rows() -> None:
    """Steps are rough, a parabola is smooth; a given kernel is kept, also through a file."""
    r = np.random.default_rng(5)
    X = r.uniform(-1, 1, size=(150, 2))
    steps, smooth = np.sign(X[:, 0]) + np.sign(X[:, 1] - 0.3), X[:, 0] ** 2 + X[:, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the linear model, which is not the point here
        kernels = [GPRegressor().fit(X, y).training_summary_["kernel"] for y in (steps, smooth)]
    assert kernels == ["matern52", "rbf"]
    assert GPRegressor("matern32").fit(X, smooth).training_summary_["kernel"] == "matern32"
    assert GPRegressor(exact_rows=0).fit(X, smooth).training_summary_["kernel"] == "rbf"


def test_a_chosen_kernel_is_read_from_a_folder(tmp_path) -> None:
    X = np.random.default_rng(6).normal(size=(60, 2))
    model = GPRegressor(random_state=0).fit(X, X[:, 0] ** 2)
    model.save(tmp_path)
    again = GPRegressor.load(tmp_path)
    assert (model.training_summary_["kernel"], again.kernel) == ("rbf", "auto")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
