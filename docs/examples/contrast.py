"""
A contrast: why this class rather than that one?
================================================

The difference of two class probabilities, explained.

"Why Grignolino?" and "why Grignolino rather than Barolo?" have different answers. ``contrast`` explains the
difference of the two probabilities, with error bars of the difference.
"""

from sklearn.datasets import load_wine

import gplens
from gplens.estimators import GPClassifier

wine = load_wine(as_frame=True)
X, y = wine.data, wine.target.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
X = X[["alcohol", "malic_acid", "flavanoids", "color_intensity", "hue", "proline"]]
model = GPClassifier("rbf", inducing_points=30, random_state=0, progress=False).fit(X, y)
explanation = model.explain(X[100:101], baseline=gplens.baselines.Mean(X), uncertainty=gplens.Samples(300, seed=0))
contrast = explanation.contrast("Grignolino", "Barolo")
print(contrast)

# %%
# Bars to the right speak for Grignolino, bars to the left for Barolo.

ax = gplens.plots.waterfall(contrast, unit="difference of probabilities")
