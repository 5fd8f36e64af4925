"""Pipelines on tables of any columns: attributions in the original columns, against differences of predict."""

import numpy as np
import pytest
from random_pipelines import attributions, case, frame

import gplens
from seeds import fresh_seed


def check(seed: int) -> None:
    subject, X = case(seed), frame(np.random.default_rng(seed + 1), 4)
    x, x0 = X[:1], X[3:]
    e = gplens.explain(subject.model, x, baseline=x0.iloc[0], tolerance=1e-8)
    ends = [subject.predicted(subject.columns.transform(part)) for part in (x, x0)]
    assert e.feature_names == tuple(X.columns), subject.text
    assert np.abs(e.prediction.numpy() - ends[0]).max() <= 1e-8, subject.text
    assert np.abs(e.values.sum(1).numpy() - (ends[0] - ends[1])).max() <= 1e-7, subject.text
    assert e.converged is not None
    assert e.converged.all(), subject.text
    largest = max(float(e.values.abs().max()), 1e-3)
    for i in range(len(x)):
        oracle = attributions(subject, x[i : i + 1], x0)
        missed = abs(oracle.sum() - (ends[0] - ends[1])[i])  # by the oracle, at kinks
        assert missed <= 1e-4 * largest, subject.text
        allowed = (1e-5 if subject.kinks else 1e-6) * largest + 2 * missed
        assert np.abs(e.values[i].numpy() - oracle).max() <= allowed, (e.values[i], oracle, subject.text)


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 7])
def test_attributions_are_those_of_predict(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_attributions_of_many_pipelines_are_those_of_predict() -> None:
    first = fresh_seed()
    for seed in range(first, first + 120):
        check(seed)
