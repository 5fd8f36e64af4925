"""
Breast cancer: why malignant, and what would be benign?
=======================================================

Two classes, and the nearest case with the other outcome as the baseline.

"Why is this one not like that one?" is answered by a comparison with the nearest cell sample that was benign.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

import gplens

cells = load_breast_cancer(as_frame=True)
columns = ["mean radius", "mean texture", "mean smoothness", "mean concavity", "mean symmetry"]
X = (cells.data[columns] - cells.data[columns].mean()) / cells.data[columns].std()
label = cells.target.map({0: "malignant", 1: "benign"})
model = GaussianProcessClassifier(4.0 * RBF(2.0), optimizer=None).fit(X[:200], label[:200])

case = X[200:][label[200:] == "malignant"][:1]
benign = gplens.baselines.Nearest(X[:200], label[:200], where="benign")
explanation = gplens.explain(model, case, baseline=benign, uncertainty=gplens.Samples(500, seed=0))
print(explanation)

# %%
# The probability of the second class, "malignant", from the benign case to this one. The values are standardised.

ax = gplens.plots.waterfall(explanation, unit="probability")
