"""One page that answers: fit a Gaussian process to bike rentals and write a report with a live what-if."""

import sys
from pathlib import Path

import numpy as np
import pandas
from numpy.typing import NDArray

import gplens
from gplens.columns import Cyclic
from gplens.estimators import GPCountRegressor

EVERY = 5
"""Every fifth hour of 2011 is enough for an example."""
WEATHER = {1: "clear", 2: "mist", 3: "light rain or snow", 4: "heavy rain or snow"}


def hours() -> tuple[pandas.DataFrame, NDArray[np.float64]]:
    """The table as people have it: texts, booleans, and numbers in their units; and the bikes rented."""
    data = gplens.datasets.bike_sharing(kaggle=False)
    columns = {name: data.column(name)[::EVERY].tolist() for name in data.feature_names if name != "day_of_year"}
    columns["weather"] = [WEATHER[int(code)] for code in columns["weather"]]
    table = pandas.DataFrame(columns).astype({"holiday": bool, "working_day": bool})
    return table, data.y[::EVERY].numpy()


def main(path: Path) -> None:
    table, counts = hours()
    print(f"Fitting a sparse GP to {len(table):,} hours for a page ...")
    columns = {"hour": Cyclic(24), "month": Cyclic(12), "weekday": Cyclic(7)}
    model = GPCountRegressor("rbf", columns=columns, inducing_points=80, random_state=0).fit(table, counts, budget=20.0)
    page = model.page(table, path, targets=counts, rows=100, title="Bikes in Washington, D.C., hour by hour")
    print(f"A report with sliders, {page.stat().st_size / 1e6:.1f} MB, that needs no server: open {page}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "bikes.html"))
