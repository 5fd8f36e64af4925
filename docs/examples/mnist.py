"""
MNIST: a heat map, and what of it is sure
=========================================

784 pixels, the probability of a 9 rather than a 4, and error bars that fade what the model is not sure of.

MNIST is read from the folder that ``GPLENS_DATA`` names. Where it is not there, the small digits of
scikit-learn take its place, and the script says so.
"""

import os

from matplotlib.figure import Figure

import gplens
from gplens.estimators import GPClassifier, Training

if "GPLENS_DATA" in os.environ:
    data = gplens.datasets.mnist().train
else:
    print("GPLENS_DATA is not set: these are the digits of scikit-learn, 8 x 8 pixels each.")
    data = gplens.datasets.digits()
two = (data.y == 4) | (data.y == 9)
X, y = data.X[two].double()[:801], data.y[two][:801]
model = GPClassifier(
    "rbf", ard=False, scaling="table", inducing_points=40, training=Training(steps=40), random_state=0, progress=False
).fit(X[:-1].numpy(), y[:-1].numpy().astype(int))
explanation = gplens.explain(
    model,
    X[-1:],
    baseline=gplens.baselines.Zeros(),
    uncertainty=gplens.Diagonal(),
    feature_names=data.feature_names,
)
print(f"P(9) = {explanation.prediction[0]:.2f}, a {y[-1]:.0f} was written")

# %%
# On the left all attributions, on the right those of which the model is sure.

figure = Figure(figsize=(13.4, 5.6), layout="constrained")
for ax, fade in zip(figure.subplots(1, 2), (False, True), strict=True):
    gplens.plots.image(explanation, fade=fade, ax=ax)
del ax
