"""
Uncertainty, attributed
=======================

Which features make the model unsure of this input?

The target is the variance of the model instead of its prediction. Rows near the training data have small
bars; the more a feature leads away from them, the larger its share.
"""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import gplens

random = np.random.default_rng(0)
X = np.column_stack([random.uniform(10, 30, 60), random.uniform(0, 5, 60), random.uniform(0, 1, 60)])
y = np.sin(X[:, 0] / 5) + 0.2 * X[:, 1] + 0.1 * random.normal(size=60)
model = GaussianProcessRegressor(RBF([5.0, 3.0, 1.0]) + WhiteKernel(0.01), optimizer=None).fit(X, y)

names = ["temperature", "pressure", "share of salt"]
unsure = gplens.explain(
    model,
    [[36.0, 6.0, 0.5]],
    baseline=gplens.baselines.Medoid(X),
    target=gplens.targets.EpistemicVariance(),
    feature_names=names,
)
print(unsure)

# %%
# Nothing was tried above 30 degrees and 5 bar.

ax = gplens.plots.uncertainty(unsure)
