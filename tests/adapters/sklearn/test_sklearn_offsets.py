"""Columns whose offset is large beside their spread, such as dates in seconds, behind every scaler and selection."""

from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import gplens
from gplens.processes.transformed import AffineMap
from seeds import fresh_seed

GRID = 2.0**-16
"""Inputs are multiples of it, so that adding an offset of up to 2^36 changes no digit of them."""


def first_is_best(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Scores of columns that do not depend on their offsets."""
    return -np.arange(X.shape[1], dtype=np.float64)


def pipeline(draw: Random) -> Pipeline:
    """Steps that are affine, in an order that does not divide by an offset first."""
    scalers = [StandardScaler, RobustScaler, MinMaxScaler]
    first: list[Any] = draw.choice(
        [
            [],
            [FunctionTransformer()],
            [SelectKBest(first_is_best, k=2)],
            [StandardScaler(with_std=False)],
            [RobustScaler(with_scaling=False)],
        ]
    )
    second = draw.choice([*scalers, *scalers, None])
    middle = [_columns(draw) if second is None else second()]
    last: list[Any] = draw.choice([[], [StandardScaler()], [PCA(2, whiten=draw.random() < 0.5)], [MaxAbsScaler()]])
    return make_pipeline(*first, *middle, *last, GaussianProcessRegressor(_kernel(draw), alpha=0.1, optimizer=None))


def _columns(draw: Random) -> ColumnTransformer:
    """Every column scaled, one of them in two ways, with a sequence of steps in one block."""
    return ColumnTransformer(
        [
            ("one", make_pipeline(StandardScaler(), MinMaxScaler()), [0]),
            ("two", draw.choice([RobustScaler(), StandardScaler()]), [0, 1]),
        ]
    )


def _kernel(draw: Random) -> Any:
    return draw.choice([RBF(1.3), Matern(1.1, nu=1.5), Matern(0.9, nu=2.5)])


def check_offset(seed: int) -> None:
    """Attributions do not change with an offset, and add up to the change of the host's own prediction."""
    draw, rng = Random(seed), np.random.default_rng(seed)
    model, scale = pipeline(draw), 2.0 ** draw.randint(0, 6)
    X = np.round(rng.normal(size=(30, 3)) * scale / GRID) * GRID
    offset = np.array([2.0 ** draw.randint(0, 30) if draw.random() < 0.7 else 0.0 for _ in range(3)]) * draw.choice(
        [-1, 1]
    )
    y = np.sin(X[:, 0] / scale) + X[:, 1] / scale
    rows, baseline = X[:3] + 0.25 * scale, X[4] - 0.125 * scale
    plain = gplens.explain(model.fit(X, y), rows, baseline=baseline)
    fitted = model.fit(X + offset, y)
    e = gplens.explain(fitted, rows + offset, baseline=baseline + offset)
    change = fitted.predict(rows + offset) - fitted.predict((baseline + offset)[None])
    lost = 1e-6 + 1e-13 * np.abs(offset).max()  # of the mean and the scale that the steps compute from X + offset
    text = f"seed {seed}: {model}, offset {offset}"
    assert np.abs(e.values.sum(1).numpy() - change).max() <= lost, text
    assert float((e.values - plain.values).abs().max()) <= 100 * lost, (e.values, plain.values, text)


@pytest.mark.parametrize("seed", range(24))
def test_attributions_do_not_change_with_an_offset(seed: int) -> None:
    check_offset(seed)


@pytest.mark.slow
def test_attributions_of_many_pipelines_do_not_change_with_an_offset() -> None:
    first = fresh_seed()
    for seed in range(first, first + 200):
        check_offset(seed)


def test_a_scaler_keeps_the_digits_that_the_host_keeps() -> None:
    """Seconds since 1970 within 100 s: x / scale - mean / scale would have an error of 4e-9."""
    x = 1.7e9 + np.random.default_rng(0).uniform(0, 100, (20, 1))
    scaler = StandardScaler().fit(x)
    ours = AffineMap.scaled(torch.as_tensor(scaler.scale_), torch.as_tensor(scaler.mean_))(torch.as_tensor(x))
    assert np.abs(ours.numpy() - scaler.transform(x)).max() <= 1e-15
