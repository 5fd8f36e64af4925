"""
Wine: three classes
===================

What tells three wines apart, and how sure is that?

``GPClassifier`` fits a softmax model to chemical measurements of three wines. The bars are mean absolute
attributions of each class probability.
"""

from sklearn.datasets import load_wine

import gplens
from gplens.estimators import GPClassifier

wine = load_wine(as_frame=True)
X, y = wine.data, wine.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
model = GPClassifier("rbf", inducing_points=30, random_state=0, progress=False).fit(X, y)

explanation = model.explain(X[::15], baseline=gplens.baselines.Mean(X), uncertainty=gplens.Diagonal())
print(explanation[0])

# %%
# Proline and alcohol tell Barolo and Grignolino apart. For Barbera, flavanoids count most.

ax = gplens.plots.bar(explanation, top=8, unit="probability")
