"""What estimators state of the noise is what new rows have: sizes of counts, noise of sparse fits, 90 % intervals."""

import numpy as np
import pytest
import torch

import gplens
from gplens.estimators import GPCountRegressor, GPRegressor, load
from gplens.estimators.dispersion import log_negative_binomial
from gplens.estimators.own_likelihoods import LogNegativeBinomial, LogPoisson

CHANCE = 0.013
"""Two standard deviations of a share of 2,000 rows that is 0.9."""


def counts(rows: int, size: float | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    r = np.random.default_rng(seed)
    X = r.normal(size=(rows, 2))
    rate = np.exp(2.5 + X[:, 0] + 0.5 * np.sin(2 * X[:, 1]))
    return X, r.poisson(rate if size is None else rate * r.gamma(size, 1 / size, rows)).astype(float)


def covered(model: GPCountRegressor, X: np.ndarray, y: np.ndarray) -> float:
    m, v = (part[:, 0].numpy() for part in model._marginals(model._read(X)))
    r, size = np.random.default_rng(0), 1 / max(model.training_summary_["dispersion"], 1e-9)
    f = m + np.sqrt(v) * r.normal(size=(2000, len(m)))
    low, high = np.quantile(r.poisson(np.exp(f) * r.gamma(size, 1 / size, f.shape)), [0.05, 0.95], axis=0)
    return float(((y >= low) & (y <= high)).mean())


def test_densities_are_those_of_scipy() -> None:
    from scipy.stats import nbinom

    y, f = torch.tensor([0.0, 1.0, 7.0, 300.0]).double()[:, None], torch.tensor([-3.0, 0.5, 2.0, 5.5]).double()[:, None]
    for size in (0.3, 4.0, 900.0):
        expected = nbinom(size, size / (size + f.exp())).logpmf(y)
        np.testing.assert_allclose(log_negative_binomial(y, f, size), expected, rtol=1e-9)
        likelihood = LogNegativeBinomial(size)
        np.testing.assert_allclose(likelihood(f[:, 0]).log_prob(y[:, 0]).detach()[:, None], expected, rtol=1e-7)


def test_counts_that_vary_as_poissons_are_poissons() -> None:
    X, y = counts(300, None, 1)
    model = GPCountRegressor(random_state=0, progress=False).fit(X, y)
    assert isinstance(model.likelihood_, LogPoisson)
    assert model.training_summary_["dispersion"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("rows", [600, 2500], ids=["without own sites", "held out"])
def test_the_size_of_counts_is_found_and_intervals_cover(rows: int, tmp_path) -> None:
    X, y = counts(rows, 5.0, 2)
    new, new_y = counts(2000, 5.0, 3)
    model = GPCountRegressor(random_state=0, progress=False).fit(X, y)
    assert 1 / 8 < model.training_summary_["dispersion"] < 1 / 3
    assert 0.87 - CHANCE <= covered(model, new, new_y) <= 0.93 + CHANCE
    mean, std = model.predict(new[:50], return_std=True)
    m, v = (part[:50, 0].numpy() for part in model._marginals(model._read(new)))
    rate, square = np.exp(m + v / 2), np.exp(2 * m + 2 * v)
    np.testing.assert_allclose(mean, rate, rtol=1e-9)
    dispersion = model.training_summary_["dispersion"]
    np.testing.assert_allclose(std**2, rate + (1 + dispersion) * square - rate**2, rtol=1e-6)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(
        loaded.predict(new[:5], return_std=True)[1], model.predict(new[:5], return_std=True)[1]
    )
    tail = gplens.explain(model, new[:1], baseline=X[0], target=gplens.targets.Exceeds(10))
    assert bool(tail.converged.all())


@pytest.mark.slow
def test_few_inducing_points_state_the_noise_of_held_out_rows() -> None:
    """A table that 20 points cannot follow: intervals cover nevertheless. Its residuals are not normal."""
    r = np.random.default_rng(4)
    X = r.uniform(-2, 2, size=(6000, 3))
    y = np.cos(4 * X[:, 0]) + np.sin(3 * X[:, 1] * X[:, 2]) + 0.2 * r.normal(size=6000)
    model = GPRegressor(inducing_points=20, random_state=0, progress=False).fit(X[:4000], y[:4000], budget=5)
    mean, std = model.predict(X[4000:], return_std=True)
    assert 0.87 <= float((np.abs(y[4000:] - mean) <= 1.6449 * std).mean()) <= 0.95
