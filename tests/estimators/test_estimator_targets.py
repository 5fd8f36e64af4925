"""Targets and columns that do not fit: a sentence at once, before anything is fitted."""

from typing import Any

import numpy as np
import pandas
import polars
import pytest
from estimator_tables import SMALL, real, table
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF

from gplens.columns import Category, Cyclic, Drop, Log
from gplens.estimators import (
    GPClassifier,
    GPCountRegressor,
    GPRegressor,
    GPVarianceRegressor,
    evidence_fit,
    fitting,
    quasi_newton,
)
from messages import naming

EVERY = [GPRegressor, GPCountRegressor, GPVarianceRegressor, GPClassifier]


@pytest.fixture(autouse=True)
def nothing_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model is made."""
    monkeypatch.setattr(fitting, "_kernel", lambda *_: pytest.fail("a model was made"))
    for module in (quasi_newton, evidence_fit):
        monkeypatch.setattr(module, "structure_of", lambda *_: pytest.fail("a model was made"))


@pytest.mark.parametrize("estimator", EVERY)
@pytest.mark.parametrize("make", [np.array, list, pandas.Series, polars.Series], ids=str)
def test_missing_targets_are_counted_and_placed(estimator: Any, make: Any) -> None:
    X, f = table(12)
    y = np.abs(f.round()).astype(object)
    y[[5, 9]] = np.nan
    if make is polars.Series:
        y = [None if value != value else value for value in y.tolist()]
    with pytest.raises(ValueError, match=naming(2, "row 5")):
        estimator().fit(X, make(y))


def test_missing_labels_are_refused() -> None:
    X, f = table(12)
    labels = pandas.Series(np.where(f > 0, "yes", "no")).where(np.arange(12) != 4, None)
    with pytest.raises(ValueError, match=naming(1, "row 4")):
        GPClassifier().fit(X, labels)


@pytest.mark.parametrize(("rows", "values"), [(400, 150), (60, 30)])
def test_whole_numbers_with_many_values_are_no_classes(rows: int, values: int) -> None:
    X, _ = table(rows)
    y = np.arange(rows) % values
    for given in (y, y.astype(float)):
        with pytest.raises(ValueError, match=naming(values, rows, values - 1, "GPCountRegressor", "GPRegressor")):
            GPClassifier().fit(X, given)


def test_a_kernel_of_scikit_learn_is_refused() -> None:
    X, f = table(12)
    for estimator in EVERY:
        with pytest.raises(ValueError, match=naming("kernel", "rbf", "RBF(length_scale=1)")):
            estimator(RBF()).fit(X, np.abs(f.round()))


def test_counts_below_zero_are_placed() -> None:
    X, f = table(12)
    y = np.abs(f).round()
    y[7] = -3
    with pytest.raises(ValueError, match=naming(-3, "row 7")):
        GPCountRegressor().fit(X, y)


def test_counts_that_are_not_whole_are_named_before_the_fit() -> None:
    X, f = table(30)
    y = np.abs(f).round()
    y[[7, 9]] = 1.25
    with (
        pytest.warns(UserWarning, match=naming("2 of 30", 1.25, "row 7")),
        pytest.raises(pytest.fail.Exception, match="a model was made"),
    ):
        GPCountRegressor(**SMALL).fit(X, y)


def test_columns_with_one_value_are_named_before_the_fit() -> None:
    X, f = table(30)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(same=1.5, street="Pave", empty=None, gone="x")
    model = GPRegressor(columns={"gone": Drop()})
    with (
        pytest.warns(UserWarning, match=naming("3 of 7", "'same'", "'street'", "'empty'")),
        pytest.raises(pytest.fail.Exception, match="a model was made"),
    ):
        model.fit(frame, real(f))


def test_a_table_that_says_nothing_is_refused() -> None:
    frame = pandas.DataFrame({"street": ["Pave"] * 9, "empty": [None] * 9})
    with pytest.raises(ValueError, match=naming(9, "street", "empty")):
        GPRegressor().fit(frame, np.arange(9.0))


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({"d": Log()}, ["'d'", "['a', 'b', 'c']"]),
        ({"a": Category}, ["'a'", "Category()"]),
        ({"a": "category"}, ["'a'", "'category'"]),
        ([Log()], ["columns", "Cyclic(24)"]),
        ({"b": Log()}, ["'b'", "row 0", "Log"]),
    ],
    ids=str,
)
def test_choices_of_columns_that_do_not_fit(columns: Any, parts: list[str]) -> None:
    X, f = table(12)
    frame = pandas.DataFrame(-np.abs(X), columns=["a", "b", "c"])
    with pytest.raises((TypeError, ValueError), match=naming(*parts)):
        GPRegressor(columns=columns).fit(frame, real(f))


def test_choices_of_columns_are_parameters() -> None:
    model = GPRegressor(columns={"hour": Cyclic(24)})
    assert clone(model).get_params()["columns"] == {"hour": Cyclic(24)}
    assert model.set_params(columns=None).columns is None


@pytest.mark.parametrize("estimator", [GPRegressor(), GPCountRegressor(), GPVarianceRegressor()], ids=repr)
def test_texts_are_no_numbers(estimator: Any) -> None:
    y = np.array(["3", "4", "many", "5", "6", "7"], dtype=object)
    y[:2] = 3.0, 4.0
    with pytest.raises(ValueError, match=naming("'many'", "2", "GPClassifier")):
        estimator.fit(np.arange(6.0)[:, None], y)
