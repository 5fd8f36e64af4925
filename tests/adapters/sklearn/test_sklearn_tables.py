"""Pipelines on tables of any columns: attributions in the original columns, against differences of predict."""

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow
import pytest
from random_pipelines import attributions, case, frame, response
from sklearn.compose import ColumnTransformer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import gplens
from messages import naming
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


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_attributions_are_those_of_predict(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))  # so that workers share them
def test_attributions_of_many_pipelines_are_those_of_predict(part: int) -> None:
    first = fresh_seed() + 15 * part
    for seed in range(first, first + 15):
        check(seed)


TABLE = frame(np.random.default_rng(0)).assign(row=[f"row {i}" for i in range(40)])
COLUMNS = ColumnTransformer(
    [
        ("a", FunctionTransformer(np.log), ["a"]),
        ("gap", SimpleImputer(add_indicator=True), ["gap"]),
        ("city", OneHotEncoder(sparse_output=False), ["city"]),
    ]
)


def fitted(X: Any = TABLE) -> Pipeline:
    last = GaussianProcessRegressor(RBF(2.0), alpha=0.1, optimizer=None)
    return make_pipeline(COLUMNS, StandardScaler(), last).fit(X, response(TABLE))


MODEL = fitted()
ROWS, BASE = TABLE[:4], TABLE.iloc[5]
EXPLAINED = gplens.explain(MODEL, ROWS, baseline=BASE, uncertainty=gplens.Full())
POLARS = polars.from_pandas(TABLE)

KINDS = {
    "polars": (MODEL, POLARS[:4], POLARS[5]),
    "fitted to polars": (fitted(POLARS), POLARS[:4], POLARS[5]),
    "arrow": (MODEL, pyarrow.Table.from_pandas(ROWS), BASE),
    "lists": (MODEL, ROWS.to_numpy(object).tolist(), BASE.to_dict()),
    "an array": (MODEL, ROWS.to_numpy(object), TABLE[5:6]),
    "read once": (gplens.read(MODEL, points=ROWS), ROWS, gplens.baselines.Rows(TABLE.iloc[[5] * 4])),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_has_the_same_attributions(kind: str) -> None:
    model, X, baseline = KINDS[kind]
    e = gplens.explain(model, X, baseline=baseline)
    np.testing.assert_allclose(e.values, EXPLAINED.values, rtol=0, atol=1e-12)
    assert e.feature_names == tuple(TABLE.columns)


def test_what_was_done_with_each_column_is_stated() -> None:
    path = EXPLAINED.provenance.path
    assert path is not None
    assert all(f"{step} for {column}" in path for step, column in (("SimpleImputer", "gap"), ("OneHotEncoder", "city")))
    assert "in a as it is" in path
    assert path in repr(EXPLAINED)
    unused = [TABLE.columns.get_loc(name) for name in ("b", "c", "grade", "row")]
    assert not EXPLAINED.values[:, unused].any()


def test_the_deviation_of_a_column_is_that_of_the_sum_over_its_outputs() -> None:
    rows = ROWS.assign(a=BASE["a"])  # a line that is straight in the inputs of the last step too
    X, x0 = (MODEL[:-1].transform(part) for part in (rows, TABLE[5:6]))
    inner = gplens.explain(MODEL[-1], X, baseline=x0[0], uncertainty=gplens.Full())
    e, outputs = gplens.explain(MODEL, rows, baseline=BASE, uncertainty=gplens.Diagonal()), MODEL[0].output_indices_
    assert inner.covariance is not None
    assert e.std is not None
    for name in ("gap", "city"):
        k, block = TABLE.columns.get_loc(name), outputs[name]
        np.testing.assert_allclose(e.values[:, k], inner.values[:, block].sum(1), atol=1e-7)
        std = inner.covariance[:, block, block].sum((1, 2)).sqrt()
        assert float((e.std[:, k] - std).abs().max()) <= 1e-5 * float(std.max())


def test_averages_and_backgrounds_are_taken_of_the_outputs() -> None:
    outputs = MODEL[:-1].transform(TABLE)
    mean = gplens.explain(MODEL, ROWS, baseline=gplens.baselines.Mean(TABLE))
    x = np.log(TABLE["a"].mean())
    scaler = MODEL[1]
    centre = outputs.mean(0)
    centre[0] = (x - scaler.mean_[0]) / scaler.scale_[0]  # the raw column is averaged, before the logarithm
    np.testing.assert_allclose(mean.baseline_prediction, MODEL[-1].predict(centre[None]).repeat(4), atol=1e-9)
    sample = gplens.explain(MODEL, ROWS, baseline=gplens.baselines.Sample(TABLE[:3]))
    single = [gplens.explain(MODEL, ROWS, baseline=TABLE.iloc[i]).values for i in range(3)]
    np.testing.assert_allclose(sample.values, sum(single) / 3, atol=1e-6)


def test_booleans_of_a_baseline_are_shown_as_those_of_the_inputs() -> None:
    """Also where the pipeline takes them as numbers; an average of booleans is a number."""
    X = TABLE[["a", "city"]].assign(lift=np.arange(40) % 3 == 0)
    steps = ColumnTransformer([("city", OneHotEncoder(sparse_output=False), ["city"])], remainder="passthrough")
    last = GaussianProcessRegressor(RBF(2.0), alpha=0.1, optimizer=None)
    model = make_pipeline(steps, last).fit(X, response(TABLE))
    e = gplens.explain(model, X[1:3], baseline=X[:1])
    assert [(e.labels.input_text(i, 2), e.labels.baseline_text(i, 2)) for i in range(2)] == [("False", "True")] * 2
    assert (e.inputs[:, 2].tolist(), e.baseline[:, 2].tolist()) == ([0, 0], [1, 1])
    mean = gplens.explain(model, X[1:3], baseline=gplens.baselines.Mean(X))
    assert mean.labels.baseline_text(0, 2) is None
    assert float(mean.baseline[0, 2]) == pytest.approx(14 / 40)


def test_texts_survive_a_file(tmp_path: Path) -> None:
    EXPLAINED.save(tmp_path / "explanation")
    loaded = gplens.Explanation.load(tmp_path / "explanation")
    assert loaded.provenance.path == EXPLAINED.provenance.path
    assert [loaded.labels.input_text(i, 0) for i in range(4)] == TABLE["city"][:4].tolist()


REFUSED = [
    ({"X": ROWS.assign(a=[1.0, np.nan, 1.0, 1.0])}, naming("'a'", "nan", "row 1")),
    ({"X": ROWS.assign(a=list("pqrs"))}, naming("'a'", "'p'", "row 0")),
    ({"X": ROWS[["a", "city"]]}, naming("city", "('a', 'city')")),
    ({"baseline": 0.0}, naming("'city'", "0")),
    ({"baseline": {"a": 1.0}}, naming("baseline", "('a',)")),
    ({"baseline": {**BASE.to_dict(), "a": -1.0}}, naming("finite", "-1")),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_the_pipeline_cannot_take_is_refused_with_its_place(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gplens.explain(MODEL, **{"X": ROWS, "baseline": BASE, **given})
