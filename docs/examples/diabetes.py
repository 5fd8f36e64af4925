"""
Diabetes: a scikit-learn model of your own
==========================================

A pipeline of scikit-learn, all patients at once, and a beeswarm.

The outcome is how far the disease has progressed after a year. Every point is one patient: how much did this
measurement move the prediction, compared with the average over forty patients?
"""

from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gplens

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X.rename(columns={"s5": "log triglycerides", "s3": "HDL", "bp": "blood pressure", "bmi": "body mass index"})
X = X[["age", "body mass index", "blood pressure", "HDL", "log triglycerides"]]
kernel = ConstantKernel() * RBF([3.0] * 5) + WhiteKernel()
model = make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True, random_state=0))
model.fit(X[:150], y[:150])

explanation = gplens.explain(model, X[150:300], baseline=gplens.baselines.Sample(X[:40]))
print(explanation[0])

# %%
# High values are orange. A high body mass index raises the prediction, a high HDL lowers it.

ax = gplens.plots.beeswarm(explanation, unit="progression")
