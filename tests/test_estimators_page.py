"""docs/ESTIMATORS.md: its code runs, and its tables are what the estimators do."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score

from gplens.adapters.entries import FAMILIES
from gplens.columns.doubts import MANY
from gplens.columns.planning import DEFAULTS, KINDS
from gplens.estimators import (
    EarlyStopping,
    GPClassifier,
    GPCountRegressor,
    GPRegressor,
    GPVarianceRegressor,
    NaturalGradients,
    Training,
)
from gplens.estimators.training.climb import LOOSE, WORTH
from gplens.estimators.training.fit_sizes import NOMINAL, RUNGS
from gplens.estimators.training.rows import typical_distance
from gplens.estimators.training_tables import FEW_CLASSES, MOST_CLASSES, ROWS_PER_CLASS

PAGE = (Path(__file__).parents[1] / "docs" / "ESTIMATORS.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
QUICK = Training(steps=40, stopping=EarlyStopping(tolerance=1e-2, every=10, patience=1))
SMALL: dict[str, Any] = {"inducing_points": 8, "training": QUICK, "random_state": 0}


def rows(section: str) -> list[list[str]]:
    """The cells of the first table below a heading or line."""
    table = re.search(r"^\|.*?(?=\n\n)", PAGE[PAGE.index(section) :], flags=re.MULTILINE | re.DOTALL).group(0)  # type: ignore[union-attr]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def table(n: int = 50) -> tuple[pandas.DataFrame, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, 3))
    return pandas.DataFrame(X, columns=["a", "b", "c"]), np.sin(2 * X[:, 0]) + X[:, 1]


def test_the_first_block_runs_and_a_loaded_model_explains_bit_for_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame, f = table()
    names: dict[str, Any] = {"frame": frame, "labels": np.digitize(f, [-0.5, 0.5])}
    exec(BLOCKS[0].replace("random_state=0", "random_state=0, inducing_points=5"), names)
    model, loaded = names["model"], names["load"]("folder")
    ours, theirs = (m.explain(frame[:3], baseline=model.mean_input_) for m in (model, loaded))
    assert torch.equal(ours.values, theirs.values)
    assert ours.feature_names == ("a", "b", "c")


def test_the_options_of_training_are_the_defaults() -> None:
    names: dict[str, Any] = {}
    exec(BLOCKS[1].replace("\nTraining(", "\ntraining = Training("), names)
    training = names["training"]
    assert training.optimizer == NaturalGradients()
    for field in fields(Training):
        if field.name != "optimizer":
            assert getattr(training, field.name) == getattr(Training(), field.name), field.name


def test_the_table_of_parameters_has_their_defaults() -> None:
    """Every default in the second column is that of a parameter in the first, in the same order."""
    listed: dict[str, object] = {}
    for names, default, _ in rows("## Parameters"):
        values = re.findall(r'`("?[\w()]+"?)`|^(\d+)', default)
        for name, (quoted, number) in zip(re.findall(r"`(\w+)`", names), values, strict=True):
            listed[name] = quoted.strip('"') if quoted else int(number)
    parameters = {**GPRegressor().get_params(), **GPClassifier().get_params()}
    assert set(listed) <= set(parameters)
    for name, default in listed.items():
        assert str(parameters[name]) == str(default), name
    kernels = re.findall(r'"(\w+)"', " ".join(rows("## Parameters")[0][1:]))
    frame, f = table(20)
    for kernel in kernels:
        GPRegressor(kernel).fit(frame, f)


def test_the_block_of_columns_runs() -> None:
    r = np.random.default_rng(0)
    columns = {"hour": r.integers(0, 24, 20), "price": r.random(20) + 1, "rooms": r.integers(1, 4, 20)}
    texts = {"neighbourhood": ["OldTown", "Hill"] * 10, "name": [f"n{i}" for i in range(20)]}
    houses = pandas.DataFrame({**columns, **texts})
    names: dict[str, Any] = {"houses": houses, "target": r.normal(size=20)}
    exec(BLOCKS[2] + "explanation = model.explain(houses[:3], baseline=houses.iloc[7])\n", names)
    assert "neighbourhood = OldTown" in " ".join(str(names["explanation"]).split())


def test_the_table_of_columns_has_every_kind_and_its_default() -> None:
    listed = {row[0].strip("`").split("(")[0]: row[1] for row in rows("## Columns")}
    assert set(listed) == set(KINDS)
    for family, kind in DEFAULTS.items():
        assert FAMILIES[family] in listed[type(kind).__name__]
    assert f"more than {MANY} categories" in PAGE
    assert f"more than {MOST_CLASSES} different values, or with more than {FEW_CLASSES}" in " ".join(PAGE.split())
    assert f"fewer than {ROWS_PER_CLASS} rows each" in " ".join(PAGE.split())


def test_scores_are_those_of_scikit_learn() -> None:
    """R^2, explained Poisson deviance, mean log density, accuracy, for the estimators of the first table."""
    (frame, f), r = table(), np.random.default_rng(1)
    counts, scattered, labels = r.poisson(np.exp(f)), f * r.normal(size=len(f)), f > 0
    exact, count = GPRegressor().fit(frame, f), GPCountRegressor(**SMALL).fit(frame, counts)
    variance, label = GPVarianceRegressor(**SMALL).fit(frame, scattered), GPClassifier(**SMALL).fit(frame, labels)
    names = [type(model).__name__ for model in (exact, count, variance, label)]
    assert [row[0].strip("`") for row in rows("| estimator |")] == names
    assert exact.score(frame, f) == pytest.approx(r2_score(f, exact.predict(frame)))
    assert count.score(frame, counts) == pytest.approx(d2_tweedie_score(counts, count.predict(frame), power=1))
    assert variance.score(frame, scattered) == pytest.approx(variance.log_density(frame, scattered).mean())
    assert label.score(frame, labels) == pytest.approx(accuracy_score(labels, label.predict(frame)))
    for model, y in ((exact, f), (count, counts), (variance, scattered), (label, labels)):
        assert model.log_density(frame, y).shape == (len(y),)
    for model in (exact, count, variance):
        assert len(model.predict(frame, return_std=True)) == 2


def test_rows_are_held_out_where_a_step_does_not_use_all() -> None:
    frame, f = table(100)
    summaries = {}
    for batch in (100, 40):
        training = Training(steps=20, batch=batch, stopping=EarlyStopping(fraction=0.05, every=10))
        model = GPCountRegressor(inducing_points=5, training=training, random_state=0)
        summaries[batch] = model.fit(frame, np.random.default_rng(0).poisson(np.exp(f))).training_summary_
    assert (summaries[100]["held_out_rows"], summaries[40]["held_out_rows"]) == (0, 5)
    assert {"inference", "steps", "elbo_per_row", "stopped", "seed"} <= set(summaries[40])


def test_lengthscales_start_at_the_median_distance_over_the_root_of_two() -> None:
    X = torch.randn(200, 4, generator=torch.Generator().manual_seed(0)).double()
    pairs = [float((X[i] - X[j]).norm()) for i in range(200) for j in range(i)]
    assert typical_distance(X, 0) == pytest.approx(float(np.median(pairs)) / 2**0.5, rel=1e-3)


def test_the_sizes_of_sparse_fits() -> None:
    page = " ".join(PAGE.split())
    assert f"Inducing points are {RUNGS[0]} at first" in page
    assert f"up to {RUNGS[-1]:,} and to what the budget allows, while their loss (6.10) is above {WORTH:g} nats" in page
    assert f"they move in a last stage if it is still above {LOOSE:g}." in page
    assert f"the sizes are those of {NOMINAL:g} seconds" in page
