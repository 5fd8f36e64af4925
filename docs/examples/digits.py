"""
Digits: which pixels say so?
============================

A softmax model of ten classes, and a heat map of 8 x 8 pixels.

Relative to the black image, a pixel has an attribution for each of the ten digits. The picture shows those of
the digit that the model believes in.
"""

import gplens
from gplens.estimators import GPClassifier, Training

digits = gplens.datasets.digits()
model = GPClassifier(
    "rbf", ard=False, scaling="table", inducing_points=50, training=Training(steps=50), random_state=0, progress=False
).fit(digits.X[:700].numpy(), digits.y[:700].numpy().astype(int))

explanation = gplens.explain(
    model, digits.X[1701:1702], baseline=gplens.baselines.Zeros(), feature_names=digits.feature_names
)
best = int(explanation.prediction[0].argmax())
print(f"{explanation.output_names[best]}: {explanation.prediction[0, best]:.2f}")

# %%
# Blue pixels speak against the digit, vermilion ones for it.

ax = gplens.plots.image(explanation)
