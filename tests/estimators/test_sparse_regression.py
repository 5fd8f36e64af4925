"""Sparse regression: next to exact models of the same rows, with few points, and after a kill."""

import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from gplens.estimators import GPRegressor, evidence_fit, sparse_regression
from gplens.estimators.training import checkpoint
from gplens.estimators.training.fit_sizes import GaussianPlan


def _table(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Local structure in two of three columns, which a few inducing points cannot follow."""
    r = np.random.default_rng(seed)
    X = r.uniform(-2, 2, size=(rows, 3))
    return X, np.cos(3 * X[:, 0] * X[:, 1]) + 0.2 * r.normal(size=rows)


def _density(**options: object) -> tuple[float, dict]:
    model = GPRegressor(random_state=0, progress=False, **options).fit(*_table(300))  # type: ignore[arg-type]
    return float(model.log_density(*_table(500, seed=1)).mean()), model.training_summary_


def test_a_sparse_model_is_as_good_as_an_exact_one_of_the_same_rows() -> None:
    """The noise of the log density over tables is 0.03; a sparse model that takes its kernel from the bound of 64
    points is below the exact one by 0.2."""
    (exact, _), (sparse, summary) = _density(), _density(exact_rows=0)
    assert summary["inference"] == "sparse"
    assert summary["inducing_points"] < 300
    assert summary["held_back"] is None
    assert sparse == pytest.approx(exact, abs=0.01)


def test_few_points_move_where_that_predicts_better(monkeypatch: pytest.MonkeyPatch) -> None:
    moving, summary = _density(exact_rows=0, inducing_points=40)
    assert summary["inducing_points"] == 40
    assert summary["held_back"] == "the number of inducing points"
    monkeypatch.setattr(sparse_regression, "LOOSE", np.inf)
    assert moving > _density(exact_rows=0, inducing_points=40)[0] + 0.05


def test_a_killed_fit_takes_its_hyperparameters_from_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = _table(120)
    model = GPRegressor(exact_rows=0, inducing_points=20, random_state=0, progress=False)
    whole = model.fit(X, y).model_.state_dict()
    with monkeypatch.context() as patch:
        patch.setattr(sparse_regression, "further_points", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.fit(X, y, checkpoint=tmp_path)
    assert (tmp_path / checkpoint.NAME).exists()
    with monkeypatch.context() as patch:
        patch.setattr(sparse_regression, "fit_evidence", lambda *_: pytest.fail("the evidence was maximised again"))
        resumed = model.fit(X, y, checkpoint=tmp_path).model_.state_dict()
    assert not (tmp_path / checkpoint.NAME).exists()
    for name, tensor in whole.items():
        assert torch.equal(tensor, resumed[name]), name


def test_a_budget_that_is_spent_leaves_what_a_few_rows_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the first evaluation with many rows: the kernel is that of the few, not that of the start."""
    X, y = _table(300)
    evaluate, sizes = evidence_fit.log_evidence, []

    def interrupted(at: object, structure: object, rows: torch.Tensor, *rest: object) -> torch.Tensor:
        sizes.append(len(rows))
        if sizes.count(300) == 1:
            signal.raise_signal(signal.SIGINT)
        return evaluate(at, structure, rows, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(evidence_fit, "log_evidence", interrupted)
    monkeypatch.setattr(evidence_fit, "QUICK", 100)
    with pytest.warns(UserWarning, match="interrupted after"):
        model = GPRegressor(exact_rows=0, random_state=0, progress=False).fit(X, y)
    assert set(sizes) == {100, 300}
    assert model.training_summary_["stopped"] == "interrupted"
    assert model.log_density(*_table(500, seed=1)).mean() > -0.9


@pytest.mark.parametrize("y", [np.ones(60), np.random.default_rng(3).normal(size=60)], ids=["constant", "noise"])
def test_targets_that_say_nothing_have_the_predictions_of_an_exact_model(y: np.ndarray) -> None:
    """Also where the kernel is so small that no point explains anything."""
    X = _table(60)[0]
    sparse, exact = (GPRegressor(exact_rows=rows, random_state=0, progress=False).fit(X, y) for rows in (0, 60))
    assert sparse.training_summary_["inducing_points"] >= 1
    np.testing.assert_allclose(sparse.predict(X), exact.predict(X), atol=0.1)


def test_sizes_follow_the_budget() -> None:
    assert GaussianPlan.of(10**5, None, None).points == 1000
    assert GaussianPlan.of(10**5, None, 600.0).points == 1024
    largest = GaussianPlan.of(10**6, None, None)
    assert largest.points == 999
    assert largest.used >= 100 * largest.points
    assert GaussianPlan.of(200, None, None) == GaussianPlan(200, 200, 200)
    assert GaussianPlan.of(10**5, 50, None).points == 50
    assert GaussianPlan.of(10**5, None, 10.0).rows < GaussianPlan.of(10**5, None, 60.0).rows == 2071
