"""Tables as people have them: constant and narrow columns, few rows, many classes, whole numbers, pipelines."""

import numpy as np
import pandas
import pytest
import torch
from estimator_tables import QUICK, SMALL, counts, fitted, real, table, two
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from gplens.estimators import Adam, GPClassifier, GPCountRegressor, GPRegressor, GPVarianceRegressor, Training

EVERY = {
    "exact": (GPRegressor(), real),
    "sparse": (GPRegressor(exact_rows=1, **SMALL), real),
    "count": (GPCountRegressor(**SMALL), counts),
    "probit": (GPClassifier(**SMALL), two),
}


@pytest.mark.parametrize("kind", EVERY)
def test_a_constant_column_gets_nothing(kind: str) -> None:
    """Neither does it disturb the others, however large its value."""
    (X, f), (model, observe) = table(), EVERY[kind]
    wide = np.insert(X, 1, 1e6 + 0.1, axis=1)
    model = clone(model).fit(wide, observe(f))
    e = model.explain(wide[:2], baseline=model.mean_input_)
    assert bool((e.values[..., 1] == 0).all())
    assert bool((e.values[..., 0] != 0).all())


@pytest.mark.parametrize(("offset", "spread"), [(0.0, 1e-100), (1.0, 1e-5), (1e9, 1e5)])
def test_a_narrow_column_is_as_good_as_a_wide_one(offset: float, spread: float) -> None:
    X, f = table()
    narrow = X.copy()
    narrow[:, 0] = offset + spread * (X[:, 0] - 5)
    wide, own = (GPRegressor().fit(Z, real(f)) for Z in (X, narrow))
    np.testing.assert_allclose(own.predict(narrow), wide.predict(X), rtol=1e-3)
    e = own.explain(narrow[:2], baseline=narrow[5])
    torch.testing.assert_close(e.values, wide.explain(X[:2], baseline=X[5]).values, rtol=0.02, atol=0.1)


def test_a_column_without_digits_is_refused() -> None:
    X, f = table()
    X[:, 0] = 1e9 + 10 * X[:, 0]
    with pytest.raises(ValueError, match=r"'x0'.*1e\+09"):
        GPRegressor().fit(X, real(f))


@pytest.mark.parametrize("kind", EVERY)
def test_twenty_rows_are_enough_for_a_sane_model(kind: str) -> None:
    """Predictions elsewhere stay within the range of what was seen, give or take its width."""
    (X, f), (model, observe) = table(20), EVERY[kind]
    y = observe(f)
    model = clone(model).fit(X, y)
    if kind == "probit":
        assert model.score(X, y) > 0.7
        return
    got = model.predict(table(200, seed=9)[0])
    assert got.min() > y.min() - np.ptp(y)
    assert got.max() < y.max() + np.ptp(y)


@pytest.mark.slow
def test_a_hundred_classes() -> None:
    """A grid of clusters, a class each."""
    rng = np.random.default_rng(0)
    centres = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), -1).reshape(-1, 2)
    y = np.repeat(np.arange(100), 4)
    X = centres[y] + 0.05 * rng.normal(size=(400, 2))
    training = Training(steps=20, stopping=None)
    model = GPClassifier(inducing_points=100, training=training, random_state=0).fit(X, y)
    assert model.score(X[::5], y[::5]) > 0.9
    np.testing.assert_allclose(model.predict_proba(X[:5]).sum(1), 1)
    assert model.explain(X[:1], baseline=X[50], outputs=[0, 50]).values.shape == (1, 2, 2)


def test_integer_and_boolean_columns_keep_their_units() -> None:
    X, f = table()
    frame = pandas.DataFrame({"flag": X[:, 0] > 5, "whole": X[:, 1].round().astype(int), "real": X[:, 2]})
    model = GPRegressor().fit(frame, real(f))
    e = model.explain(frame[:2], baseline=model.mean_input_)
    assert e.inputs[:, 0].tolist() == [float(frame.flag[0]), float(frame.flag[1])]
    assert e.feature_names == tuple(model.feature_names_in_) == ("flag", "whole", "real")


def test_pipelines_with_named_columns() -> None:
    """set_output on the steps before gives the estimator, and its explanations, their names."""
    X, f = table()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(day=np.where(X[:, 2] > 1, "sun", "moon"))
    encode = ColumnTransformer([("day", OneHotEncoder(sparse_output=False), ["day"])], remainder=StandardScaler())
    steps = make_pipeline(encode, GPRegressor()).set_output(transform="pandas")
    steps.fit(frame, real(f))
    seen = steps[:-1].transform(frame[:2])
    e = steps[-1].explain(seen, baseline=steps[-1].mean_input_)
    assert e.feature_names[:2] == ("day__day_moon", "day__day_sun")


@pytest.mark.slow
def test_cross_validation_and_search() -> None:
    X, f = table(90)
    scores = cross_val_score(GPCountRegressor(**SMALL), X, counts(f), cv=3)
    assert scores.mean() > 0.3
    found = GridSearchCV(GPClassifier(**SMALL), {"kernel": ["rbf", "matern32"]}, cv=2).fit(X, two(f))
    assert found.best_score_ > 0.7


def test_inference_is_exact_for_few_rows_and_says_so() -> None:
    assert fitted("exact").training_summary_["inference"] == "exact"
    assert fitted("sparse").training_summary_["inference"] == "sparse"


def test_the_same_seed_gives_the_same_model_and_leaves_the_global_generator_alone() -> None:
    (X, f), before = table(80), torch.random.get_rng_state()
    options = {"inducing_points": 10, "training": Training(steps=20, batch=30)}
    a, b, c = (GPClassifier(random_state=seed, **options).fit(X, np.digitize(f, [-0.5, 0.5])) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    for name, tensor in a.model_.state_dict().items():
        assert torch.equal(tensor, b.model_.state_dict()[name])
    assert not np.array_equal(a.predict_proba(X), c.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "cubic"}, "matern32.*kernel='cubic'"),
        ({"scaling": "rows"}, "columns.*scaling='rows'"),
        ({"inducing": "grid"}, "kmeans.*inducing='grid'"),
        ({"inducing_points": 0}, "inducing_points=0"),
        ({"training": QUICK.steps}, "gplens.estimators.Training.*training=60"),
    ],
)
def test_wrong_options_are_found_by_fit(options: dict, message: str) -> None:
    X, f = table()
    with pytest.raises((ValueError, TypeError), match=message):
        GPCountRegressor(**options).fit(X, counts(f))


def test_targets_that_do_not_fit_are_refused() -> None:
    X, f = table()
    with pytest.raises(ValueError, match=rf"counts.*{f.min()}"):
        GPCountRegressor().fit(X, f)
    with pytest.raises(ValueError, match=r"y.*60 zeros"):
        GPVarianceRegressor().fit(X, 0 * f)
    with pytest.raises(ValueError, match="floor=0"):
        GPVarianceRegressor(floor=0).fit(X, f)
    with pytest.raises(ValueError, match="link='probit' with 3 classes"):
        GPClassifier(link="probit").fit(X, np.digitize(f, [-0.5, 0.5]))


def test_training_that_diverges_says_so() -> None:
    X, f = table()
    with pytest.raises(ArithmeticError, match=r"Training\(optimizer=Adam"):
        GPCountRegressor(training=Training(optimizer=Adam())).fit(X, np.where(f > 0, 1e308, 0.0))


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "bool[pyarrow]", "uint8[pyarrow]", "bool", "int64"])
def test_labels_of_nullable_types_are_booleans_and_whole_numbers(dtype: str) -> None:
    """As those of numpy, which scikit-learn's own classifiers return: True, not 1.0."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    labels = X[:, 0] > 0
    y = pandas.Series(labels if "bool" in dtype else labels.astype(int), dtype=dtype)
    model = GPClassifier(random_state=0, progress=False).fit(X, y)
    assert model.classes_.tolist() == ([False, True] if "bool" in dtype else [0, 1])
    assert model.classes_.dtype.kind == ("b" if "bool" in dtype else "i")
    assert model.predict(X).dtype == model.classes_.dtype
