"""Baselines that are rows of a table: scipy's distances say which."""

import numpy as np
import pandas
import polars
import pytest
import torch
from scipy.spatial.distance import cdist

import gplens
from conformance.zoo import FEATURES, KERNELS, fitted, generator, normal, rows
from gplens.baselines import Incumbent, Medoid, Nearest
from gplens.links import Exp
from messages import naming

POSTERIOR, _ = fitted(KERNELS["rbf"], 41)
X = rows(41, 3)[0]
TABLE = (normal(generator(2), 30, FEATURES) * torch.tensor([1.0, 100.0, 0.01, 1.0])).numpy()
TABLE[:, 3] = 5.0  # constant: it distinguishes no rows
Y = TABLE[:, 0] + TABLE[:, 1] / 100
LABELS = np.where(Y > 0.5, "high", np.where(Y < -0.5, "low", "middle"))


def distances(A: np.ndarray) -> np.ndarray:
    return cdist(A[:, :3], TABLE[:, :3], "seuclidean", V=TABLE[:, :3].var(0))


def baseline_of(baseline: object, X: object = X) -> np.ndarray:
    return gplens.explain(POSTERIOR, X, baseline=baseline, likelihood=Exp(), support=False).baseline.numpy()


@pytest.mark.parametrize(
    "make",
    [np.asarray, torch.as_tensor, pandas.DataFrame, np.ndarray.tolist],
    ids=["array", "tensor", "frame", "list"],
)
def test_the_medoid_has_the_smallest_sum_of_distances(make: object) -> None:
    medoid = TABLE[distances(TABLE).sum(1).argmin()]
    np.testing.assert_array_equal(baseline_of(Medoid(make(TABLE))), np.tile(medoid, (3, 1)))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("where", "allowed"),
    [
        ("low", LABELS == "low"),
        (lambda y: y != "low", LABELS != "low"),
        (LABELS == "high", LABELS == "high"),
        ((LABELS == "high").tolist(), LABELS == "high"),
    ],
    ids=["label", "function", "mask", "list"],
)
def test_the_nearest_row_with_an_outcome(where: object, allowed: np.ndarray) -> None:
    apart = np.where(allowed, distances(X.numpy()), np.inf)
    np.testing.assert_array_equal(baseline_of(Nearest(TABLE, LABELS, where=where)), TABLE[apart.argmin(1)])


def test_the_nearest_row_beyond_a_threshold_and_the_nearest_of_another_class() -> None:
    far = np.where(Y > 1, distances(X.numpy()), np.inf)
    found = baseline_of(Nearest(TABLE, torch.from_numpy(Y), where=lambda y: y > 1))
    np.testing.assert_array_equal(found, TABLE[far.argmin(1)])
    own = np.array(["low", "middle", "high"])
    other = np.where(own[:, None] != LABELS, distances(X.numpy()), np.inf)
    np.testing.assert_array_equal(baseline_of(Nearest(TABLE, LABELS, unlike=own)), TABLE[other.argmin(1)])


@pytest.mark.parametrize("minimize", [False, True])
def test_the_incumbent_is_the_best_row(minimize: bool) -> None:
    best = TABLE[Y.argmin() if minimize else Y.argmax()]
    for y in (Y, Y[:, None], torch.from_numpy(Y), Y.tolist(), pandas.Series(Y), polars.Series(Y)):
        np.testing.assert_array_equal(baseline_of(Incumbent(TABLE, y, minimize=minimize))[0], best)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Nearest(TABLE, LABELS), naming("where", "unlike", "neither")),
        (lambda: Nearest(TABLE, LABELS, where="low", unlike="high"), naming("where", "unlike", "both")),
        (lambda: Nearest(TABLE, LABELS, where="none"), naming("30 rows", "where='none'")),
        (lambda: Nearest(TABLE, LABELS[:5], where="low"), naming(30, "(5,)")),
        (lambda: Nearest(TABLE, Y, where=lambda y: y), naming("where", "lambda y: y > 100", "float64")),
        (lambda: Incumbent(TABLE, LABELS), naming("finite", "numbers")),
        (lambda: Incumbent(TABLE, np.where(Y > 1, np.nan, Y)), naming("finite", "numbers")),
        (lambda: baseline_of(Nearest(TABLE, LABELS, unlike=["low", "high"])), naming("unlike", "3 rows", 2)),
        (lambda: baseline_of(Medoid(TABLE[:, :3])), naming("columns", 4, 3)),
    ],
    ids=["neither", "both", "empty", "short", "no mask", "texts", "nan", "two labels", "narrow"],
)
def test_what_chooses_no_row_is_refused(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


def test_the_text_says_which_row() -> None:
    assert repr(Incumbent(TABLE, Y)) == f"Incumbent(row {Y.argmax()} of 30, the largest y)"
    assert repr(Medoid(TABLE)) == "Medoid(X with 30 rows)"
