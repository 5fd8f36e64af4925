# What stands for the reader's table and model.
import numpy as np
import pandas

from gplens.estimators import GPRegressor

random = np.random.default_rng(0)
table = pandas.DataFrame(random.normal(size=(20, 2)), columns=["heat", "time"])
counts = random.poisson(3.0, size=20).astype(float)
model = GPRegressor(random_state=0, progress=False).fit(table, counts)
explanation, likelihood = model.explain(table[:3], baseline=table.iloc[5], uncertainty=True), None
