"""Options of encoders and column transformers together, on a table with texts and gaps: sums are those of predict."""

from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures, PowerTransformer, StandardScaler

import gplens

R = np.random.default_rng(0)
TABLE = pandas.DataFrame(
    {
        "a": R.gamma(3, 1, 40) + 0.2,
        "b": R.normal(size=40),
        "gap": np.where(R.random(40) < 0.2, np.nan, R.normal(size=40)),
        "city": R.choice(["Rome", "Oslo", "Bern", "Ulm"], 40, p=[0.4, 0.3, 0.25, 0.05]),
        "grade": R.choice(["low", "high"], 40),
    }
)
Y = np.log(TABLE["a"]) + np.sin(TABLE["b"]) + (TABLE["city"] == "Rome") + 0.3 * (TABLE["grade"] == "high")
KEPT: Any = None
"""The optimizer that keeps the parameters of a kernel, None, which the types of scikit-learn do not have."""
NUMBERS, TEXTS = ["a", "b"], ["city", "grade"]
GAP = ("gap", SimpleImputer(add_indicator=True), ["gap"])


def columns(encoder: Any, **options: Any) -> ColumnTransformer:
    return ColumnTransformer([("texts", encoder, TEXTS), ("numbers", StandardScaler(), NUMBERS), GAP], **options)


STEPS: dict[str, Any] = {
    "two categories in one column": columns(OneHotEncoder(drop="if_binary", handle_unknown="ignore")),
    "rare categories together": columns(OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist")),
    "at most two categories": columns(OneHotEncoder(max_categories=2)),
    "codes": columns(OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)),
    "weights": columns(OneHotEncoder(), transformer_weights={"texts": 0.5, "numbers": 2.0}),
    "columns by their type": ColumnTransformer(
        [
            ("texts", OneHotEncoder(), make_column_selector(dtype_exclude=float)),
            (
                "numbers",
                make_pipeline(SimpleImputer(add_indicator=True), PowerTransformer()),
                make_column_selector(dtype_include=float),
            ),
        ]
    ),
    "powers after an imputer": ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), PolynomialFeatures(2)), ["gap", "a"]),
            ("texts", OneHotEncoder(), TEXTS),
        ],
        remainder="passthrough",
    ),
    "a union around": FeatureUnion(
        [
            ("numbers", ColumnTransformer([("numbers", StandardScaler(), NUMBERS)])),
            ("others", ColumnTransformer([GAP, ("texts", OneHotEncoder(drop="first"), TEXTS)])),
        ]
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_attributions_of_combinations_add_up(name: str) -> None:
    last = GaussianProcessRegressor(1.0 * RBF(3.0), alpha=0.1, optimizer=KEPT, normalize_y=True)
    model = make_pipeline(STEPS[name], last).fit(TABLE, Y)
    rows, start = TABLE.iloc[[3, 11, 20]].copy(), TABLE.iloc[[7]]
    rows.iloc[0, 2] = np.nan
    e = gplens.explain(model, rows, baseline=start.iloc[0])
    assert e.feature_names == tuple(TABLE.columns)
    assert bool(np.asarray(e.converged).all())
    np.testing.assert_allclose(e.values.sum(1), model.predict(rows) - model.predict(start), atol=1e-7)
