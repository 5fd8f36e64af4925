"""Every row of the table of steps in docs/HOSTS.md, against differences of predict and the last step's own inputs."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
import sklearn.decomposition
import sklearn.feature_selection
import sklearn.impute
import sklearn.kernel_approximation
import sklearn.preprocessing
import sklearn.random_projection
from numpy.typing import NDArray
from random_pipelines import completed
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import Pipeline, make_pipeline

import gplens
from gplens.adapters.sklearn.function_transformer import SLOPES
from oracles.difference_path import integrated_gradients

PAGE = (Path(__file__).parents[3] / "docs" / "HOSTS.md").read_text()
ROWS = re.findall(r"^\| `(.*?)` \| (the column|its output|none: refused) \|", PAGE, flags=re.MULTILINE)
MODULES = [
    sklearn.decomposition,
    sklearn.feature_selection,
    sklearn.impute,
    sklearn.kernel_approximation,
    sklearn.preprocessing,
    sklearn.random_projection,
]
NAMES = {"np": np, **{name: value for module in MODULES for name, value in vars(module).items()}}
KINKED = ("clip", "Spline", "Quantile", "'l1'", "'max'", "np.abs")
Array = NDArray[np.float64]


def table(step: str) -> Array:
    """Positive numbers; a few different ones for encoders, and a missing one for imputers."""
    X = np.random.default_rng(0).gamma(3.0, 1.0, (40, 3)) + 0.2
    if "Encoder" in step or "rint" in step:
        X = np.round(X)
    if "Imputer" in step:
        X[[1, 5], [0, 2]] = np.nan
    return X


def fitted(expression: str, frame: type | None = None) -> tuple[Pipeline, Any]:
    X = table(expression)
    y = np.sin(np.nan_to_num(X[:, 0])) + 0.3 * np.nan_to_num(X[:, 1] * X[:, 2])
    rows: Any = X if frame is None else frame(dict(zip("abc", X.T, strict=True)))
    last = GaussianProcessRegressor(1.0 * RBF(3.0), alpha=0.1, optimizer=None)
    model = make_pipeline(eval(expression, dict(NAMES)), sklearn.preprocessing.StandardScaler(), last)
    with warnings.catch_warnings(action="ignore"):
        return model.fit(rows, y), rows


@pytest.mark.parametrize(("step", "how"), ROWS, ids=[step for step, _ in ROWS])
def test_the_table_says_what_happens(step: str, how: str) -> None:
    model, X = fitted(step)
    x, x0 = X[[1, 7]], X[20]
    if how == "none: refused":
        name = step.partition("(")[0]
        with pytest.raises(ValueError, match=rf"{name}.*pipeline\[-1\]"):
            gplens.explain(model, x, baseline=x0)
        return
    e = gplens.explain(model, x, baseline=x0, tolerance=1e-9)
    change = model.predict(x) - model.predict(x0[None])
    assert np.abs(e.values.sum(1).numpy() - change).max() <= 1e-7
    if how == "the column":
        check_raw(model, x, x0, e, kinked=any(word in step for word in KINKED))
    else:
        check_blocks(model, x, x0, e)


def check_raw(model: Pipeline, x: Array, x0: Array, e: gplens.Explanation, *, kinked: bool) -> None:
    """Equal to differences of predict along the straight line; at kinks these are less exact."""
    assert e.provenance.path is None
    if not kinked:
        oracle = integrated_gradients(model.predict, x, x0, 1e-3 * np.ones(3))
        assert np.abs(e.values.numpy() - oracle).max() <= 1e-6 * np.abs(oracle).max()
        return
    oracle = halved(model, x[1], x0)
    missed = abs(oracle.sum() - float(model.predict(x[1:])[0] - model.predict(x0[None])[0]))
    assert missed <= 1e-3
    assert np.abs(e.values[1].numpy() - oracle).max() <= 1e-5 * np.abs(oracle).max() + 4 * missed


def halved(model: Pipeline, x: Array, x0: Array) -> Array:
    """Differences of predict, on intervals that are halved at kinks."""

    def slopes(t: Array) -> Array:
        h, points = 1e-6, x0 + t[:, None] * (x - x0)
        shifted = np.concatenate([points + sign * h * row for row in np.eye(3) for sign in (1, -1)])
        ahead, behind = model.predict(shifted).reshape(3, 2, len(t)).transpose(1, 2, 0)
        return (x - x0) * (ahead - behind) / (2 * h)

    return completed(slopes, float(model.predict(x[None])[0] - model.predict(x0[None])[0]), 150)


def check_blocks(model: Pipeline, x: Array, x0: Array, e: gplens.Explanation) -> None:
    """Sums of what the last steps have for the outputs of the first one that change with a column."""
    path = e.provenance.path
    assert path is not None
    assert type(model[0]).__name__ in path
    first, rest = model[0], model[1:]

    def outputs(X: Array) -> Array:
        made = first.transform(X)
        return made.toarray() if hasattr(made, "toarray") else np.asarray(made)

    inner = gplens.explain(rest, outputs(x), baseline=outputs(x0[None])[0], tolerance=1e-9)
    for i in range(len(x)):
        for k in range(x.shape[1]):
            moved = x0.copy()
            moved[k] = x[i, k]
            changed = (outputs(moved[None]) != outputs(x0[None]))[0]
            assert abs(float(e.values[i, k]) - inner.values[i].numpy()[changed].sum()) <= 1e-7


MORE = [
    "Normalizer('l1')",
    "Normalizer('max')",
    "SplineTransformer(3, degree=2, extrapolation='linear')",
    "SplineTransformer(3, degree=1)",
    "SplineTransformer(3, degree=2, extrapolation='continue', include_bias=False)",
    "SplineTransformer(4, extrapolation='error', knots='quantile')",
    "PowerTransformer(standardize=False)",
    "FunctionTransformer(np.sqrt)",
    "FunctionTransformer(lambda X: X[:, [0]] ** 2 / X[:, 1:], validate=True)",
]


@pytest.mark.slow
@pytest.mark.parametrize("step", MORE)
def test_further_options_of_steps_are_exact(step: str) -> None:
    test_the_table_says_what_happens(step, "the column")


@pytest.mark.parametrize("function", SLOPES, ids=lambda function: function.__name__)
def test_slopes_of_known_functions_are_those_of_their_values(function: Any) -> None:
    x, h = np.array([0.13, 0.4, 0.83]), 1e-5
    differences = (8 * (function(x + h) - function(x - h)) - function(x + 2 * h) + function(x - 2 * h)) / (12 * h)
    np.testing.assert_allclose(SLOPES[function](x), differences, rtol=1e-8)


def test_a_column_with_repeated_quantiles_moves_in_its_output() -> None:
    X = table("")
    X[:25, 1] = 2.0
    model = make_pipeline(
        sklearn.preprocessing.QuantileTransformer(n_quantiles=10),
        GaussianProcessRegressor(RBF(1.0), alpha=0.1, optimizer=None),
    ).fit(X, X[:, 0])
    e = gplens.explain(model, X[[30]], baseline=X[3])
    path = e.provenance.path
    assert path is not None
    assert "x0, x2 as they are" in path
    assert "QuantileTransformer for x1" in path
    np.testing.assert_allclose(e.values.sum(1), model.predict(X[[30]]) - model.predict(X[[3]]), atol=1e-8)


def test_a_square_root_from_zero_is_integrated() -> None:
    model, X = fitted("FunctionTransformer(np.sqrt)")
    e = gplens.explain(model, X[:2], baseline=0.0)
    assert e.converged is not None
    assert e.converged.all()
    np.testing.assert_allclose(e.values.sum(1), model.predict(X[:2]) - model.predict(np.zeros((1, 3))), atol=1e-6)


def test_a_path_through_a_row_of_zeros_is_refused_by_a_normalizer() -> None:
    model, X = fitted("Normalizer()")
    with pytest.raises(ValueError, match=r"Normalizer.*zeros"):
        gplens.explain(model, X[:1], baseline=0.0)


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
@pytest.mark.parametrize("step", ["PowerTransformer()", "OneHotEncoder(sparse_output=False)", "SimpleImputer()"])
def test_frames_have_the_attributions_of_arrays(step: str, frame: type) -> None:
    model, X = fitted(step)
    named, rows = fitted(step, frame)
    expected = gplens.explain(model, X[:3], baseline=X[20])
    e = gplens.explain(named, rows[:3], baseline=rows[20:21])
    assert e.feature_names == ("a", "b", "c")
    np.testing.assert_allclose(e.values.numpy(), expected.values.numpy(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(e.inputs.numpy(), X[:3])


def test_lines_beyond_the_knots_that_the_host_continues_otherwise_are_refused() -> None:
    model, X = fitted("SplineTransformer(3, degree=1, extrapolation='linear')")
    with pytest.raises(ValueError, match="SplineTransformer output"):
        gplens.explain(model, 2 * X.max(0)[None], baseline=X[20])
