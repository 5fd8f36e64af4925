"""Probabilities of several classes are those that new rows have: the factor of latent functions (MATH 6.16, 6.17)."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris, make_classification

from gplens.estimators import GPClassifier, load
from gplens.estimators.stated_probabilities import without_own_sites
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.sites import SiteTerms, Solution


def test_a_row_without_its_site_is_predicted_from_the_other_sites() -> None:
    """Against a dense posterior of all other pseudo-observations, with one inducing point at each row."""
    g = torch.Generator().manual_seed(0)
    rows = torch.randn(7, 2, generator=g, dtype=torch.float64)
    linear, w = (torch.rand(2, 7, generator=g, dtype=torch.float64) + 0.1 for _ in range(2))
    structure = Structure.of("rbf", 2, True, (), 1e-12, 1.0)
    at = Hyperparameters(torch.zeros(1, 2).double(), torch.zeros(1).double(), Z=rows[None])
    K = (-torch.cdist(rows, rows).square() / 2).exp()
    L = torch.linalg.cholesky(K)  # phi(X) = L' of whitened inducing points at the rows
    P = torch.eye(7).double() + L.mT @ torch.diag_embed(w) @ L
    q = Solution((L.mT @ linear[..., None])[..., 0], P, SiteTerms(linear, w), 0.0)
    m, v = without_own_sites(rows, at, structure, q, torch.arange(7))
    for c in range(2):
        for i in range(7):
            others = [j for j in range(7) if j != i]
            S = K[others][:, others] + torch.diag(1 / w[c, others])
            gain = torch.linalg.solve(S, K[others, i])
            assert abs(float(gain @ (linear[c, others] / w[c, others]) - m[c, i])) < 1e-8
            assert abs(float(K[i, i] - gain @ K[others, i] - v[c, i])) < 1e-8


def three_classes(seed: int) -> tuple[np.ndarray, np.ndarray]:
    options = {"n_informative": 5, "n_redundant": 0, "n_classes": 3, "n_clusters_per_class": 1, "flip_y": 0.02}
    return make_classification(900, 8, **options, random_state=seed)


@pytest.mark.slow
def test_new_rows_are_more_probable_than_without_the_factor(monkeypatch) -> None:
    gains = []
    for seed in (71, 72):
        X, y = three_classes(seed)
        new, new_y = X[300:], y[300:]
        model = GPClassifier(random_state=0, progress=False).fit(X[:300], y[:300])
        assert model.training_summary_["latent_factor"] > 1.02
        with monkeypatch.context() as patch:
            patch.setattr("gplens.estimators.quasi_newton.calibrated_factor", lambda *parts: 1.0)
            plain = GPClassifier(random_state=0, progress=False).fit(X[:300], y[:300])
        gains.append(model.log_density(new, new_y).mean() - plain.log_density(new, new_y).mean())
        np.testing.assert_array_equal(model.predict(new[:5]), plain.predict(new[:5]))
    assert min(gains) > 0


def test_the_factor_is_one_for_two_classes_and_stays_near_one_for_few_rows() -> None:
    X, y = load_iris(return_X_y=True)
    two = GPClassifier(random_state=0, progress=False).fit(X[:100:4], y[:100:4])
    assert "latent_factor" not in two.training_summary_
    three = GPClassifier(random_state=0, progress=False).fit(X[::15], y[::15])  # ten rows that a plane separates
    assert 0.8 < three.training_summary_["latent_factor"] < 1.5


def test_explanations_and_files_have_the_factor(tmp_path) -> None:
    X, y = load_iris(return_X_y=True)
    model = GPClassifier(random_state=0, progress=False).fit(X[::3], y[::3])
    p = model.predict_proba(X[[1, 60, 110]])
    found = model.explain(X[[1, 60, 110]], baseline=X[70])
    change = torch.from_numpy(p - model.predict_proba(X[[70]]))
    torch.testing.assert_close(found.values.sum(-1).reshape(change.shape), change, rtol=0, atol=1e-6)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.training_summary_["latent_factor"] == model.training_summary_["latent_factor"] != 1.0
