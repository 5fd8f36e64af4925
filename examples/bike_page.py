"""One page that answers: fit a Gaussian process to bike rentals and write a report with a live what-if."""

import sys
from pathlib import Path

import pandas

import gplens
from gplens.columns import Cyclic
from gplens.estimators import GPCountRegressor

EVERY = 4
"""Every fourth hour of 2011 is enough for an example."""
WEATHER = {1: "clear", 2: "mist", 3: "light rain or snow", 4: "heavy rain or snow"}


def hours() -> tuple[pandas.DataFrame, pandas.Series]:
    """The table as people have it: texts, booleans, and numbers in their units; and the bikes rented."""
    data = gplens.datasets.bike_sharing(kaggle=False)
    table = pandas.DataFrame(data.X.numpy(), columns=list(data.feature_names)).drop(columns="day_of_year")
    table["weather"] = table["weather"].map(WEATHER)
    table = table.astype({"holiday": bool, "working_day": bool})
    return table[::EVERY], pandas.Series(data.y.numpy())[::EVERY]


def main(path: Path) -> None:
    table, counts = hours()
    print(f"Fitting a sparse GP to {len(table):,} hours for a page ...")
    columns = {"hour": Cyclic(24), "month": Cyclic(12), "weekday": Cyclic(7)}
    model = GPCountRegressor("rbf", columns=columns, inducing_points=80, random_state=0).fit(table, counts)
    page = model.page(table, path, targets=counts, rows=100, title="Bikes in Washington, D.C., hour by hour")
    print(f"A report with sliders, {page.stat().st_size / 1e6:.1f} MB, that needs no server: open {page}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "bikes.html"))
