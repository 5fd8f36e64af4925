"""
Bikes: why so many in this hour?
================================

Counts, a Poisson likelihood, and a waterfall with error bars.

``GPCountRegressor`` fits a Gaussian process to the bikes that were rented in hours of 2011. The explanation
compares one busy hour, Friday, 7 October, five in the afternoon, with a quiet one, 1 January, one in the
morning.
"""

import pandas

import gplens
from gplens.columns import Cyclic
from gplens.estimators import GPCountRegressor, Training

bikes = gplens.datasets.bike_sharing(kaggle=False)
columns = ["hour", "working_day", "weather", "temperature", "humidity", "wind_speed"]
frame = pandas.DataFrame({name: bikes.column(name).numpy() for name in columns})
model = GPCountRegressor(
    inducing_points=40,
    training=Training(steps=80, batch=500),
    columns={"hour": Cyclic(24)},
    random_state=0,
    progress=False,
).fit(frame[::4], bikes.y.numpy()[::4])

busy, quiet = frame.iloc[[6603]], frame.iloc[1]
explanation = model.explain(busy, baseline=quiet, uncertainty=gplens.Samples(500, seed=0))
print(explanation)

# %%
# The bars lead from the quiet hour to the busy one. A whisker is the 90 % interval of the feature's own attribution.

ax = gplens.plots.waterfall(explanation, unit="bikes per hour")
