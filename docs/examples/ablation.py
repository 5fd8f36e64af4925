"""
Ablation against random orders
==============================

Does the order of the attributions matter to the model?

Features are set to the baseline one by one, the largest attribution first. If the order means something, the
prediction falls faster than for random orders. All curves end at the same place, by completeness.
"""

from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import gplens

X, y = load_diabetes(return_X_y=True, as_frame=True)
X = X / 0.05
model = GaussianProcessRegressor(RBF(5.0) + WhiteKernel(), normalize_y=True, random_state=0).fit(X[:200], y[:200])
explanation = gplens.explain(model, X[200:240], baseline=gplens.baselines.Mean(X[:200]))
print(explanation[0])

# %%
# The mean over forty patients. The band is the range of random orders.

ax = gplens.plots.ablation(explanation, model, unit="progression", orders=20)
