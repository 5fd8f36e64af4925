"""What else scikit-learn prints, and what users may choose instead: variances, the exact logistic, names."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn_zoo import BY_NAME, EVERY_MODEL, REGRESSORS, fit, plane

import gplens
from conformance.hosts import HostCase, explained, fitted
from gplens import links, targets
from gplens.adapters.sklearn.classifier import FIVE_ERRORS


@pytest.mark.parametrize("case", [item for item in REGRESSORS if item.name != "plane, noise that grows"], ids=repr)
def test_the_predictive_variance_is_the_square_of_the_printed_std(case: HostCase) -> None:
    """White noise included, as predict(return_std=True) has it."""
    subject = fitted(case)
    e = gplens.explain(subject.model, subject.X, baseline=subject.baseline, target=targets.PredictiveVariance())
    std = subject.model.predict(subject.X, return_std=True)[1]
    np.testing.assert_allclose(e.prediction.numpy(), std**2, rtol=1e-6, atol=1e-10 * std.max() ** 2)


def test_noise_is_the_difference_between_predictive_and_epistemic_variance() -> None:
    subject = fitted(BY_NAME["wave, rbf and noise, restarted"])
    ours = [
        gplens.explain(subject.model, subject.X, baseline=subject.baseline, target=target).prediction
        for target in (targets.PredictiveVariance(), targets.EpistemicVariance())
    ]
    noise = subject.model.kernel_.k2.noise_level
    torch.testing.assert_close(ours[0] - ours[1], torch.full_like(ours[0], noise), rtol=1e-9, atol=1e-12)


def test_exceedance_is_that_of_the_printed_gaussian() -> None:
    subject = fitted(BY_NAME["two targets, normalised"])
    e = gplens.explain(subject.model, subject.X, baseline=subject.baseline, target=targets.Exceeds(1.0))
    mean, std = subject.model.predict(subject.X, return_std=True)
    np.testing.assert_allclose(e.prediction.numpy(), norm.sf(1.0, mean, std), rtol=1e-9, atol=1e-12)


def test_noise_that_changes_with_the_input_has_no_predictive_variance() -> None:
    subject = fitted(BY_NAME["plane, noise that grows"])
    with pytest.raises(ValueError, match=r"Var\[y\|f\]"):
        gplens.explain(subject.model, subject.X, baseline=0.0, target=targets.PredictiveVariance())


@pytest.mark.parametrize("name", ["xor, rbf", "moons, rbf and noise"])
def test_the_exact_logistic_is_a_choice(name: str) -> None:
    """Against scipy's quadrature over the printed latent moments; the five error functions are 5e-4 away at most."""
    subject = fitted(BY_NAME[name])
    e = gplens.explain(subject.model, subject.X, baseline=subject.baseline, likelihood=links.Sigmoid())
    m, v = subject.model.latent_mean_and_variance(subject.X)
    exact = [
        quad(lambda z, m=m, s=s: norm.pdf(z) * expit(m + s * z), -12, 12, epsabs=1e-12, points=[-m / s])[0]
        for m, s in zip(m, v**0.5, strict=True)
    ]
    np.testing.assert_allclose(e.prediction.numpy(), exact, atol=1e-9)
    assert 1e-9 < (e.prediction - explained(BY_NAME[name]).prediction).abs().max() < 5e-4


def test_the_exact_logistic_of_several_classes_is_normalised_by_one_versus_rest() -> None:
    subject, predicted = fitted(BY_NAME["iris"]), explained(BY_NAME["iris"])
    e = gplens.explain(subject.model, subject.X, baseline=subject.baseline, likelihood=links.OneVsRest(links.Sigmoid()))
    torch.testing.assert_close(e.prediction.sum(1), torch.ones(3).double())
    assert (e.values - predicted.values).abs().max() < 1e-4
    assert e.gap.abs().max() < 1e-8


def test_classes_have_their_names_and_one_can_be_asked_for() -> None:
    subject = fitted(BY_NAME["iris, ard, names"])
    e = gplens.explain(subject.model, subject.X, baseline=subject.baseline, outputs="virginica")
    assert e.output_names == ("virginica",)
    np.testing.assert_allclose(e.prediction[:, 0].numpy(), subject.model.predict_proba(subject.X)[:, 2], atol=1e-9)
    assert explained(BY_NAME["iris"]).output_names == ("class 0", "class 1", "class 2")
    assert "the output is P(y = class True)" in explained(BY_NAME["xor, rbf"]).provenance.notes


def test_the_variance_of_a_class_is_that_of_a_coin() -> None:
    subject = fitted(BY_NAME["xor, rbf"])
    e = gplens.explain(subject.model, subject.X, baseline=subject.baseline, target=targets.PredictiveVariance())
    p = subject.model.predict_proba(subject.X)[:, 1]
    np.testing.assert_allclose(e.prediction.numpy(), p * (1 - p), atol=1e-10)


def test_models_fitted_on_frames() -> None:
    """Columns are found by name, a wrong order is refused, and nothing warns."""
    X, y = plane()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = fit(make_pipeline(StandardScaler(), GaussianProcessRegressor(RBF() + WhiteKernel())), frame, y)
    e = gplens.explain(model, frame[:3], baseline=frame.mean())
    np.testing.assert_allclose(e.prediction.numpy(), model.predict(frame[:3]), atol=1e-10)
    assert e.feature_names == ("a", "b", "c")
    with pytest.raises(ValueError, match=r"\['a', 'b', 'c'\].*\['c', 'b', 'a'\]"):
        gplens.explain(model, frame[["c", "b", "a"]], baseline=0.0)


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_pipelines_that_find_their_columns_by_name(output: str) -> None:
    X, y = plane()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    steps = make_column_transformer((StandardScaler(), ["c", "a"]), remainder="passthrough")
    model = make_pipeline(steps, GaussianProcessRegressor(RBF() + WhiteKernel(), optimizer=None))
    model = fit(model.set_output(transform=output), frame, y)
    e = gplens.explain(model, frame[:3], baseline=frame.mean())
    np.testing.assert_allclose(e.prediction.numpy(), model.predict(frame[:3]), atol=1e-10)


def test_five_error_functions_are_close_to_the_logistic() -> None:
    """The 4.4e-4 of the documentation."""
    f = torch.linspace(-15, 15, 3001, dtype=torch.float64)
    assert 4.3e-4 < (FIVE_ERRORS(f) - torch.sigmoid(f)).abs().max() < 4.4e-4


@pytest.mark.parametrize("case", EVERY_MODEL, ids=repr)
def test_provenance_says_how_well_the_model_was_read(case: HostCase) -> None:
    notes = explained(case).provenance.notes
    assert any("equal the host's to" in note or "predict_proba is met to" in note for note in notes)
