"""A table with a column of every kind, and estimators that are fitted to it."""

from functools import cache
from typing import Any

import numpy as np
import pandas

from gplens.columns import Cyclic, Drop, Log
from gplens.estimators import EarlyStopping, GPClassifier, GPCountRegressor, GPRegressor, Training

QUICK = Training(steps=20, stopping=EarlyStopping(tolerance=1e-2, every=10, patience=1))
SMALL: dict[str, Any] = {"inducing_points": 8, "training": QUICK, "random_state": 0}
CHOSEN = {"price": Log(), "hour": Cyclic(24), "name": Drop()}


def mixed(rows: int = 40, seed: int = 0) -> pandas.DataFrame:
    """Numbers, two of them for Log and Cyclic, a number with missing entries, texts, booleans, dates, names."""
    r = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "area": r.normal(100, 20, rows),
            "price": np.exp(r.normal(5, 1, rows)),
            "hour": r.integers(0, 24, rows),
            "age": np.where(np.arange(rows) % 7 == 2, np.nan, r.normal(30, 10, rows)),
            "place": r.choice(["OldTown", "NewTown", "Hill"], rows),
            "heated": r.random(rows) > 0.4,
            "sold": pandas.Timestamp("2019-01-01 06:30") + pandas.to_timedelta(r.integers(0, 9000, rows), unit="h"),
            "name": [f"house {i}" for i in range(rows)],
        },
        index=pandas.Index([f"h{i}" for i in range(rows)]),
    )


def latent(frame: pandas.DataFrame) -> np.ndarray:
    """A function of all columns but the names."""
    f = (frame["area"] - 100) / 20 + np.log(frame["price"]) / 2 + np.sin(frame["hour"] / 24 * 2 * np.pi)
    f += (
        frame["age"].fillna(30.0) / 20
        + 0.3 * frame["age"].isna()
        + 0.8 * (frame["place"] == "Hill")
        + 0.5 * frame["heated"]
    )
    return (f + 0.5 * np.cos(frame["sold"].dt.day_of_year / 58)).to_numpy()


@cache
def fitted(kind: str) -> Any:
    """An estimator of each likelihood, fitted to the same table."""
    frame = mixed()
    f = latent(frame)
    if kind == "exact":
        return GPRegressor("rbf", columns=CHOSEN).fit(frame, f)
    if kind == "count":
        y = np.random.default_rng(1).poisson(np.exp((f - f.mean()) / 2)).astype(float)
        return GPCountRegressor("matern52", columns=CHOSEN, **SMALL).fit(frame, y)
    labels = np.where(f > np.median(f), "dear", "cheap") if kind == "probit" else np.digitize(f, [2.5, 3.5])
    return GPClassifier("rbf", columns=CHOSEN, **SMALL).fit(frame, labels)
