"""The background that estimators keep: rows that stand for all, and the baseline of explanations without one."""

from pathlib import Path

import numpy as np
import pytest
import torch
from estimator_tables import KINDS, TWO_CLASSES, fitted, table
from sklearn.metrics import pairwise_distances

import gplens
from gplens.estimators import GPClassifier, load
from gplens.estimators.representatives import ROWS, representatives
from gplens.estimators.scaling import Scaling
from messages import naming

FORMAT_1 = Path(__file__).parent / "format_1"
PLAIN = Scaling(torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64))


def test_rows_are_the_centres_of_clusters_with_their_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three heaps of known sizes, far apart: the row of each that is nearest to its centre, weighted by its size."""
    monkeypatch.setattr("gplens.estimators.representatives.ROWS", 3)
    rng, sizes = np.random.default_rng(0), np.array([10, 30, 60])
    places = [[0.0, 0.0], [1000.0, 0.0], [0.0, 1000.0]]
    heaps = [np.array(place) + rng.normal(size=(size, 2)) for place, size in zip(places, sizes, strict=True)]
    kept = representatives(torch.from_numpy(np.concatenate(heaps)), PLAIN, None, seed=0)
    assert kept.weights is not None
    np.testing.assert_allclose(kept.weights.numpy(), sizes[::-1] / 100)
    for row, heap in zip(kept.values.numpy(), heaps[::-1], strict=True):
        from_centre = pairwise_distances(heap, heap.mean(0)[None])[:, 0]
        assert pairwise_distances(row[None], heap.mean(0)[None])[0, 0] <= np.median(from_centre)  # centres are rough
        assert any((row == member).all() for member in heap)


def test_a_weight_is_the_same_as_repeated_rows() -> None:
    X = torch.from_numpy(np.random.default_rng(1).normal(size=(12, 2)))
    weights = torch.arange(1.0, 13.0, dtype=torch.float64)
    kept = representatives(X, PLAIN, weights, seed=0)  # no more rows than are kept: each stands for itself
    assert kept.weights is not None
    order = torch.tensor([int((row == X).all(1).nonzero()) for row in kept.values])
    torch.testing.assert_close(kept.weights, weights[order] / weights.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_an_explanation_without_a_baseline_is_relative_to_the_background(kind: str) -> None:
    """Complete: from the weighted average of the predictions of the kept rows."""
    model, X = fitted(kind), table(1, seed=7)[0]
    e, background = model.explain(X), model.background_
    assert background is not None
    assert 0.7 * ROWS <= len(background.values) <= ROWS  # clusters may be empty
    assert {tuple(row) for row in background.values.tolist()} <= {tuple(row) for row in table()[0].tolist()}
    says = model.predict_proba if isinstance(model, GPClassifier) else model.predict
    expected = says(X) - np.average(says(background.values.numpy()), axis=0, weights=background.weights)
    expected = expected[:, 1] if kind in TWO_CLASSES else expected
    np.testing.assert_allclose(e.values.sum(-1).numpy(), expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
    assert f"its background of {len(background.values)} typical training rows" in repr(e)
    assert e.background_std is not None
    assert torch.equal(gplens.explain(model, X).values, e.values)
    if kind == "exact":
        assert torch.equal(gplens.explain(gplens.read(model), X).values, e.values)


def test_the_background_is_saved_and_folders_without_one_ask_for_a_baseline(tmp_path: Path) -> None:
    model, X = fitted("exact"), table(2, seed=7)[0]
    model.save(tmp_path)
    assert torch.equal(load(tmp_path).explain(X).values, model.explain(X).values)
    with pytest.warns(UserWarning, match="format 1"):
        old = load(FORMAT_1 / "exact")
    with pytest.raises(ValueError, match=naming("baseline", "None", "gplens.baselines.Sample(X_train)")):
        old.explain(X)
    old.save(tmp_path / "again")
    np.testing.assert_array_equal(load(tmp_path / "again").predict(X), old.predict(X))


def test_a_positional_baseline_is_refused_with_the_line_to_type() -> None:
    with pytest.raises(TypeError, match=naming("baseline=Zeros()")):
        fitted("exact").explain(table(2)[0], gplens.baselines.Zeros())
