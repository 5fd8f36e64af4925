"""
Categories: a table as it comes
===============================

Texts and numbers in one table, one attribution for each column.

The estimators of gplens take categories as they are. The explanation has one attribution for the column
"quarter", however many categories it has, and prints the category.
"""

import numpy as np
import pandas

import gplens
from gplens.estimators import GPRegressor

random = np.random.default_rng(0)
frame = pandas.DataFrame(
    {
        "quarter": random.choice(["Old Town", "Harbour", "Hill"], 150),
        "area": random.uniform(30, 120, 150).round(),
        "balcony": random.choice([True, False], 150),
    }
)
extra = frame["quarter"].map({"Old Town": 300.0, "Harbour": 0.0, "Hill": 120.0})
rent = 200 + 9 * frame["area"] + extra + 40 * frame["balcony"] + random.normal(0, 30, 150)
model = GPRegressor(random_state=0, progress=False).fit(frame, rent)

home, other = frame.iloc[[0]], frame.iloc[3]
explanation = model.explain(home, baseline=other, uncertainty=True)
print(explanation)

# %%
# Labels read from the baseline to the input: from the other home to this one.

ax = gplens.plots.waterfall(explanation, unit="euros a month")
