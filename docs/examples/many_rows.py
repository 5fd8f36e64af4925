"""
A file of many rows
===================

Twenty thousand rows from a Parquet file, explained in pieces.

``explain_file`` reads, explains and writes in pieces, so that memory does not grow with the file. The picture
is drawn from the file of results.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas
from matplotlib.figure import Figure

from gplens.batch import Options, explain_file
from gplens.estimators import GPRegressor

random = np.random.default_rng(0)
frame = pandas.DataFrame(random.normal(size=(20_000, 4)), columns=["heat", "time", "mass", "flow"])
y = np.sin(2 * frame["heat"]) + frame["time"] * frame["mass"]
model = GPRegressor("rbf", random_state=0, progress=False).fit(frame[:150], y[:150])

folder = Path(tempfile.mkdtemp())
model.save(folder / "model")
frame.to_parquet(folder / "rows.parquet")
print(explain_file(folder / "model", folder / "rows.parquet", folder / "attributions.parquet", Options()))

# %%
# The attribution of the time in every row. The outcome has a product of time and mass in it, so the attribution of the
# time depends on the mass, which is the colour.

results = pandas.read_parquet(folder / "attributions.parquet")
figure = Figure(figsize=(7, 3.6), layout="constrained")
axes = figure.subplots()
points = axes.scatter(frame["time"], results["attribution:time"], c=frame["mass"], s=3, cmap="cividis", vmin=-2, vmax=2)
axes.axhline(0, color="black", linewidth=0.8)
axes.set(xlabel="time (standardised)", ylabel="attribution of the time")
axes.set_title("20,000 rows: the effect of the time depends on the mass", loc="left")
axes.spines[["top", "right"]].set_visible(False)
figure.colorbar(points, label="mass (standardised)")
del axes
