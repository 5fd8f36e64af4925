# What stands for the table of bikes and for an image, with models of a few rows.
import numpy as np
import pandas

import gplens
from gplens.estimators import GPClassifier, Training

random = np.random.default_rng(0)
frame = pandas.DataFrame(random.normal(size=(30, 3)), columns=["hour", "working_day", "temperature"])
counts, baseline = random.poisson(3, size=30), frame.iloc[0]
pixels = random.normal(size=(20, 4))
images = GPClassifier(inducing_points=4, random_state=0, training=Training(steps=2), progress=False)
images.fit(pixels, np.digitize(pixels[:, 0], [-0.5, 0.5]))
digit = images.explain(pixels[:1], baseline=gplens.baselines.Zeros(), uncertainty=gplens.Diagonal())
