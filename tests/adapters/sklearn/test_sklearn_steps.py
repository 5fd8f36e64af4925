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
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import Pipeline, make_pipeline

import gplens
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
KINKED = ("clip", "Spline", "Quantile")
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
    panels, step = (150, 1e-6) if kinked else (8, 1e-3)
    oracle = integrated_gradients(model.predict, x, x0, step * np.ones(3), panels=panels)
    missed = np.abs(oracle.sum(1) - (model.predict(x) - model.predict(x0[None]))).max()
    assert missed <= (3e-2 if kinked else 1e-6)
    assert np.abs(e.values.numpy() - oracle).max() <= 1e-6 * np.abs(oracle).max() + 2 * missed


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
