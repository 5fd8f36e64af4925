"""What estimators predict, against closed forms and the libraries around them."""

import numpy as np
import pytest
import torch
from estimator_tables import KINDS, fitted, real, table
from scipy.integrate import quad
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit
from scipy.stats import norm, poisson
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from gplens.estimators import GPClassifier, GPRegressor


def _host(kind: str, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """m and v as GPyTorch predicts them, from the user's own units."""
    with torch.no_grad():
        f = fitted(kind).model_(torch.from_numpy(X))
        return f.mean.reshape(len(X), -1).numpy(), f.variance.reshape(len(X), -1).numpy()


def test_exact_regression_is_the_closed_form() -> None:
    """k (K + s)^-1 (y - c) with the fitted hyperparameters, in numpy."""
    model, (X, f), new = fitted("exact"), table(), table(seed=3)[0]
    y, host = real(f), model.model_
    scale, noise = float(host.covar_module.outputscale), float(model.likelihood_.noise)
    lengthscale, constant = host.covar_module.base_kernel.lengthscale.numpy(), float(host.mean_module.constant)

    def k(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return scale * np.exp(-((((A[:, None] - B) / lengthscale) ** 2).sum(-1)) / 2)

    factor = cho_factor(k(X, X) + noise * np.eye(len(X)))
    mean = constant + k(new, X) @ cho_solve(factor, y - constant)
    variance = scale - np.einsum("ij,ji->i", k(new, X), cho_solve(factor, k(X, new))) + noise
    got, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(got, mean, rtol=1e-8)
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-6)
    np.testing.assert_allclose(model.log_density(new, got + 1), norm.logpdf(1, 0, np.sqrt(variance)), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:The optimal value found:sklearn.exceptions.ConvergenceWarning")  # theirs
def test_exact_regression_is_as_good_as_scikit_learns() -> None:
    """On held-out rows, with the same kind of kernel: log density no worse by 0.2 (ours has a prior)."""
    (X, f), (new, g) = table(100), table(200, seed=5)
    model = GPRegressor("rbf", random_state=0).fit(X, real(f))
    spread, y = X.std(0), real(f)
    theirs = GaussianProcessRegressor(
        ConstantKernel(1) * RBF([1, 1, 1]) + WhiteKernel(0.1), n_restarts_optimizer=2, normalize_y=True, random_state=0
    ).fit(X / spread, y)
    mean, std = theirs.predict(new / spread, return_std=True)
    assert model.log_density(new, real(g)).mean() > norm.logpdf(real(g), mean, std).mean() - 0.2


@pytest.mark.parametrize("kind", KINDS)
def test_marginals_are_gpytorchs(kind: str) -> None:
    X = table(20, seed=4)[0]
    m, v = (tensor.numpy() for tensor in fitted(kind)._marginals(torch.from_numpy(X)))
    host_m, host_v = _host(kind, X)
    np.testing.assert_allclose(m, host_m, rtol=1e-6, atol=1e-6 * np.abs(host_m).max())
    np.testing.assert_allclose(v, host_v, rtol=1e-5, atol=1e-6 * host_v.max())


def test_counts_are_expectations_over_the_latent_function() -> None:
    X = table(5, seed=4)[0]
    (m, v), model = _host("count", X), fitted("count")
    mean, std = model.predict(X, return_std=True)
    density = model.log_density(X, np.full(5, 3))
    for i in range(5):
        f = norm(m[i, 0], v[i, 0] ** 0.5)
        first, second, p = (
            quad(lambda t, g=g, f=f: g(t) * f.pdf(t), f.mean() - 12 * f.std(), f.mean() + 12 * f.std())[0]
            for g in (np.exp, lambda t: np.exp(2 * t) + np.exp(t), lambda t: poisson.pmf(3, np.exp(t)))
        )
        np.testing.assert_allclose([mean[i], std[i]], [first, np.sqrt(second - first**2)], rtol=1e-5)
        np.testing.assert_allclose(density[i], np.log(p), rtol=1e-5)


def test_a_variance_is_that_of_the_observations() -> None:
    X = table(5, seed=4)[0]
    (m, v), model = _host("variance", X), fitted("variance")
    variance, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(variance, m[:, 0] ** 2 + v[:, 0] + float(model.likelihood_.floor), rtol=1e-5)
    np.testing.assert_allclose(std**2, variance)
    assert model.score(X, std) == pytest.approx(model.log_density(X, std).mean())


@pytest.mark.parametrize(("kind", "link"), [("probit", norm.cdf), ("logistic", expit)])
def test_probabilities_of_two_classes_are_expectations(kind: str, link: object) -> None:
    X = table(4, seed=4)[0]
    m, v = _host(kind, X)
    p = fitted(kind).predict_proba(X)
    for i in range(4):
        f = norm(m[i, 0], v[i, 0] ** 0.5)
        span = f.mean() - 12 * f.std(), f.mean() + 12 * f.std()
        expected = quad(lambda t, f=f: link(t) * f.pdf(t), *span)[0]  # type: ignore[operator]
        np.testing.assert_allclose(p[i], [1 - expected, expected], rtol=1e-5, atol=1e-8)
    assert list(fitted(kind).classes_) == ["no", "yes"]


def test_probabilities_of_three_classes_are_expectations() -> None:
    """Against 200,000 draws of GPyTorch's latent functions."""
    X = table(4, seed=4)[0]
    m, v = _host("softmax", X)
    f = m + np.sqrt(v) * np.random.default_rng(0).normal(size=(200_000, *m.shape))
    p = np.exp(f - f.max(-1, keepdims=True))
    np.testing.assert_allclose(fitted("softmax").predict_proba(X), (p / p.sum(-1, keepdims=True)).mean(0), atol=5e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_learns_something(kind: str) -> None:
    """Better on new rows than the best constant, by the score of each estimator."""
    (X, f), observe = table(200, seed=6), KINDS[kind][1]
    y, model = observe(f), fitted(kind)
    if isinstance(model, GPClassifier):
        assert model.score(X, y) > np.unique(y, return_counts=True)[1].max() / len(y) + 0.1
    elif kind == "variance":
        assert model.score(X, y) > norm.logpdf(y, 0, y.std()).mean()
    else:
        assert model.score(X, y) > 0.4
