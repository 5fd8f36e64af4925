"""The models of images: as in the paper, and at real quality."""

import torch

from gplens.estimators import GPClassifier, NaturalGradients, Training


def as_in_the_paper(seed: int, quick: bool) -> GPClassifier:
    """A kernel and 100 inducing points, which start at the first rows, for each class; 500 steps of 250 rows."""
    training = Training(
        steps=10 if quick else 500,
        batch=250,
        stopping=None,
        single=True,
        optimizer=NaturalGradients(rate=0.1),
    )
    return GPClassifier(
        "rbf",
        inducing_points=20 if quick else 100,
        inducing="first",
        shared=False,
        scaling="table",
        training=training,
        random_state=seed,
    )


def at_real_quality(seed: int, quick: bool) -> GPClassifier:
    """1,200 inducing points that all classes share; one pass of least squares, then natural gradients for q(u)."""
    training = Training(
        steps=5 if quick else 48,
        batch=3000,
        optimizer=NaturalGradients(rate=0.4),
        stopping=None,
        learn_kernel=False,
        learn_inducing=False,
        single=True,
    )
    return GPClassifier(
        "rbf",
        inducing_points=40 if quick else 1200,
        ard=False,
        scaling="table",
        training=training,
        random_state=seed,
    )


MODELS = {"100 inducing points a class": as_in_the_paper, "1,200 inducing points": at_real_quality}
FILES = {"100 inducing points a class": "paper", "1,200 inducing points": "quality"}
"""How each is called in file names."""
PRECISION = {"100 inducing points a class": torch.float64, "1,200 inducing points": torch.float32}
"""Of the marginals behind averages over random orders and metrics. The curves of the ten images are in float64."""
