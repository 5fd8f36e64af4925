"""
Many files on a Ray cluster
===========================

Twelve files, one for each month, explained by two workers of a Ray cluster.

``explain_dataset`` divides the rows by file and row group, and every worker writes the results of its row groups
itself. Without an address, ``Ray`` starts a cluster of this machine and ends it with the call. With
``Ray(address="auto")``, the same lines run on the machines of a cluster.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas
from matplotlib.figure import Figure

from gplens.estimators import GPRegressor
from gplens.scale import Ray, explain_dataset

random = np.random.default_rng(0)
FEATURES, MONTHS, ROWS = ["heat", "wind", "sun", "price"], 12, 500


def month(number: int) -> pandas.DataFrame:
    """The heat varies most in winter, the sun in summer."""
    winter = np.cos(2 * np.pi * number / MONTHS)
    spread = [1 + 0.8 * winter, 0.6, 1 - 0.8 * winter, 0.4]
    return pandas.DataFrame(random.normal(size=(ROWS, len(FEATURES))) * spread, columns=FEATURES)


folder = Path(tempfile.mkdtemp())
(folder / "data").mkdir()
months = [month(number) for number in range(MONTHS)]
for number, frame in enumerate(months):
    frame.to_parquet(folder / "data" / f"month-{number + 1:02d}.parquet")

known = pandas.concat(months)[::40]
demand = np.tanh(known["heat"]) + 0.4 * known["wind"] * known["price"] + np.sin(known["sun"])
GPRegressor("rbf", random_state=0, progress=False).fit(known, demand).save(folder / "model")

outcome = explain_dataset(folder / "model", folder / "data", folder / "attributions", engine=Ray(workers=2))
print(f"{outcome.rows:,} rows in {outcome.parts} parts, {outcome.errors} errors")

# %%
# Each file of results belongs to one row group: here, to a month. The picture shows how large attributions were. Heat
# moved the predictions in winter, the sun in summer.

parts = sorted((folder / "attributions").glob("*.parquet"))
sizes = [pandas.read_parquet(part)[[f"attribution:{name}" for name in FEATURES]].abs().mean() for part in parts]

figure = Figure(figsize=(7, 3.2), layout="constrained")
axes = figure.subplots()
picture = axes.imshow(np.array(sizes).T, cmap="Blues", vmin=0, aspect="auto")
axes.set(xlabel="month", xticks=range(MONTHS), xticklabels=range(1, MONTHS + 1))
axes.set(yticks=range(len(FEATURES)), yticklabels=FEATURES)
axes.set_title("What moved the predicted demand, month by month", loc="left")
figure.colorbar(picture, label="mean |attribution| (demand)")
del axes, picture
