"""`sample_weight`: a row of weight two is two equal rows, for every likelihood."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from estimator_tables import SMALL, counts, real, scattered, table, two
from scipy.stats import multivariate_normal

from gplens.estimators import GPClassifier, GPCountRegressor, GPRegressor, GPVarianceRegressor, load
from gplens.estimators.training.evidence import log_evidence
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from messages import naming

EVERY: dict[str, tuple[Any, Any]] = {
    "exact": (lambda: GPRegressor("rbf"), real),
    "sparse": (lambda: GPRegressor(exact_rows=1, **SMALL), real),
    "count": (lambda: GPCountRegressor(**SMALL), counts),
    "variance": (lambda: GPVarianceRegressor(**SMALL), scattered),
    "probit": (lambda: GPClassifier(**SMALL), two),
    "collapsed": (lambda: GPRegressor(exact_rows=1, inducing_points=8, random_state=0), real),
    "sites": (lambda: GPClassifier(inducing_points=8, random_state=0), two),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", EVERY)
def test_weights_are_repetitions(kind: str) -> None:
    """Also in another order, with rows of weight zero left out."""
    (X, f), (make, observe) = table(18), EVERY[kind]
    y, weights = observe(f), np.random.default_rng(2).integers(0, 4, 18)
    order = np.random.default_rng(3).permutation(int(weights.sum()))
    repeated = make().fit(X.repeat(weights, 0)[order], y.repeat(weights)[order])
    weighted = make().fit(X, y, sample_weight=weights)
    says = "predict_proba" if kind in ("probit", "sites") else "predict"
    np.testing.assert_allclose(getattr(weighted, says)(X), getattr(repeated, says)(X), rtol=1e-9)
    assert not np.allclose(getattr(weighted, says)(X), getattr(make().fit(X, y), says)(X), rtol=1e-4)


def test_the_evidence_of_weights_is_that_of_repeated_rows() -> None:
    """Up to rounding that of scipy's density of all rows, with the kernel as numpy has it."""
    r = np.random.default_rng(0)
    X, y, weights = r.normal(size=(6, 2)), r.normal(size=6), np.array([1, 3, 2, 1, 1, 4])
    A, b, w = torch.from_numpy(X), torch.from_numpy(y), torch.from_numpy(weights).double()
    length, size, noise = (torch.tensor(number, dtype=torch.float64) for number in (0.8, 1.7, 0.3))
    at = Hyperparameters(length.log().expand(1, 1), size.log()[None], None, 0 * size, noise.log())
    rows = X.repeat(weights, 0)
    K = 1.7 * np.exp(-((rows[:, None] - rows) ** 2).sum(2) / (2 * 0.8**2)) + 0.3 * np.eye(len(rows))
    expected = multivariate_normal(np.zeros(len(rows)), K).logpdf(y.repeat(weights))
    assert float(log_evidence(at, Structure.of("rbf", 2, False, (), 0.0, 1.0), A, b, w)) == pytest.approx(
        expected, rel=1e-9
    )


def test_a_weighted_exact_model_is_saved_and_explained(tmp_path: Path) -> None:
    X, f = table(20)
    weights = np.linspace(0.1, 3, 20)
    model = GPRegressor("rbf").fit(X, real(f), sample_weight=weights)
    model.save(tmp_path)
    loaded = load(tmp_path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    own, again = (m.explain(X[:2], baseline=m.mean_input_) for m in (model, loaded))
    assert torch.equal(own.values, again.values)
    np.testing.assert_allclose(model.mean_input_, np.average(X, axis=0, weights=weights))
    np.testing.assert_allclose(
        own.values.sum(1), model.predict(X[:2]) - model.predict(model.mean_input_[None]), rtol=1e-5
    )


@pytest.mark.parametrize("weights", [[-1.0] + [1.0] * 11, [0.0] * 12])
def test_weights_that_make_no_sense_are_refused(weights: list[float]) -> None:
    X, f = table(12)
    with pytest.raises(ValueError, match=naming("row 0", weights[0])):
        GPRegressor().fit(X, real(f), sample_weight=weights)


def test_weights_of_targets_in_small_units(tmp_path: Path) -> None:
    """GPyTorch raises fixed noise below 1e-6; the fit to targets of 1e-9 is that to targets of one, saved or not."""
    r = np.random.default_rng(5)
    X, w = r.normal(size=(40, 2)), r.integers(1, 4, 40)
    y = np.sin(X[:, 0]) + 0.1 * r.normal(size=40)
    large, small = (GPRegressor(random_state=0, progress=False).fit(X, unit * y, w) for unit in (1.0, 1e-9))
    small.save(tmp_path / "model")
    for model in (small, load(tmp_path / "model")):
        np.testing.assert_allclose(1e9 * model.predict(X), large.predict(X), rtol=1e-5, atol=1e-6)
