"""Attributions relative to few rows that stand for all, against those relative to all training rows, by their number.

The recipe of ROWS in src/gplens/estimators/representatives.py. The difference is the mean over inputs and features,
relative to the mean size of the attributions relative to all rows; beside it that of the average row.
"""

import warnings

import torch
from sklearn.datasets import load_diabetes, load_wine

import gplens
from gplens.estimators import GPClassifier, GPRegressor, representatives
from gplens.estimators.base import GPEstimator
from gplens.estimators.scaling import scaling_of


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    X, y = load_diabetes(return_X_y=True)
    compare("diabetes", GPRegressor(random_state=0).fit(X[:300], y[:300]), X[:300], X[300:330])
    X, y = load_wine(return_X_y=True)
    compare("wine", GPClassifier(random_state=0).fit(X[::2], y[::2]), X[::2], X[1::6])
    bikes = gplens.datasets.bike_sharing(kaggle=False)
    X, y = bikes.X[::20], bikes.y[::20]
    compare("bikes", GPRegressor(random_state=0).fit(X.numpy(), y.numpy()), X.numpy(), bikes.X[4:8000:400].numpy())


def compare(name: str, model: GPEstimator, train: object, X: object) -> None:
    table = torch.as_tensor(train, dtype=torch.float64)
    scaling = scaling_of("columns", table, tuple((k,) for k in range(table.shape[1])))
    options = {"tolerance": 1e-4, "support": False}
    exact = model.explain(X, baseline=gplens.baselines.Sample(train), **options).values

    def difference(baseline: object) -> str:
        values = model.explain(X, baseline=baseline, **options).values
        return f"{float((values - exact).abs().mean() / exact.abs().mean()):.3f}"

    cells = []
    for count in (5, 10, 20, 40, 80):
        representatives.ROWS = count
        cells.append(f"{count}: {difference(representatives.representatives(table, scaling, None, 0))}")
    print(f"{name:10}", *cells, f"average row: {difference(model.mean_input_)}", sep="   ", flush=True)


if __name__ == "__main__":
    main()
