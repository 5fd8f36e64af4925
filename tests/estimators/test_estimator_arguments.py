"""Parameters of estimators and outputs of classifiers: understood, or refused with a sentence that names them."""

from typing import Any

import numpy as np
import pytest
import torch
from estimator_tables import SMALL, fitted, real, table, two
from sklearn.gaussian_process.kernels import RBF

from gplens.estimators import GPClassifier, GPRegressor, GPVarianceRegressor, Training
from messages import naming


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": RBF()},
        {"kernel": None},
        {"kernel": "RBF"},
        {"inducing": ["first"]},
        {"inducing_points": 12.5},
        {"inducing_points": "12"},
        {"inducing_points": True},
        {"inducing_points": 0},
        {"scaling": None},
        {"scaling": ["columns"]},
        {"exact_rows": "many"},
        {"exact_rows": [1]},
    ],
    ids=str,
)
def test_parameters_that_make_no_sense_are_named(parameters: dict[str, Any]) -> None:
    X, f = table(12)
    name = next(iter(parameters))
    with pytest.raises(ValueError, match=naming(name)):
        GPRegressor(**{"exact_rows": 1, **parameters}).fit(X, real(f))


def test_a_floor_or_link_that_makes_no_sense_is_named() -> None:
    X, f = table(12)
    for floor in ("0.01", None, 0, -1, float("inf"), [0.01]):
        with pytest.raises(ValueError, match=naming("floor")):
            GPVarianceRegressor(floor=floor, **SMALL).fit(X, f)
    for link in ("", 0, [], "logit", "softmax "):
        with pytest.raises(ValueError, match=naming("link")):
            GPClassifier(link=link, **SMALL).fit(X, two(f))


@pytest.mark.parametrize("name", ["steps", "batch", "checkpoint_every"])
def test_training_takes_whole_numbers(name: str) -> None:
    with pytest.raises(ValueError, match=naming(name, 0)):
        Training(**{name: 0})
    for value in (10.5, "10", True, None):
        with pytest.raises((ValueError, TypeError), match=naming(name, value)):
            Training(**{name: value})


def test_numbers_of_numpy_are_numbers() -> None:
    X, f = table(30)
    ours = GPClassifier(**{**SMALL, "inducing_points": np.int64(5)}).fit(X, two(f))
    theirs = GPClassifier(**{**SMALL, "inducing_points": 5}).fit(X, two(f))
    np.testing.assert_array_equal(ours.predict_proba(X), theirs.predict_proba(X))


def test_outputs_of_a_classifier_are_labels_names_or_positions() -> None:
    """Labels are 0, 10 and 20."""
    model, X = fitted("softmax"), table(2, seed=8)[0]

    def explained(outputs: Any) -> tuple[str, ...] | None:
        return model.explain(X, baseline=model.mean_input_, outputs=outputs, tolerance=1e-3).output_names

    for outputs in (
        10,
        10.0,
        np.int64(10),
        np.array(10),
        torch.tensor(10),
        "class 10",
        1,
        np.uint8(1),
        [10],
        np.array([10]),
    ):
        assert explained(outputs) == ("class 10",), outputs
    assert explained(np.array([20, 0])) == ("class 20", "class 0")
    for outputs in (True, 1.5, "10", np.array([1.5]), -1, 3, [[10]], slice(0, 1)):
        with pytest.raises(ValueError, match=naming(["class 0", "class 10", "class 20"])):
            explained(outputs)
