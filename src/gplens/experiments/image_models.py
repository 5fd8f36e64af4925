"""Models of images: the classifiers of the experiments, and a fitted model as a function of some pixels alone."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.estimators import GPClassifier, NaturalGradients, Training
from gplens.kernels import RBF, Scale
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack


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
"""The name of each model in file names."""
PRECISION = {"100 inducing points a class": torch.float64, "1,200 inducing points": torch.float32}
"""The precision of marginals in averages over random orders and in metrics. Curves of single images are in float64."""


def on_pixels(process: Process, x: Float[Tensor, " d"], free: Bool[Tensor, " d"]) -> Process:
    """The process as a function of the free pixels alone, the others fixed to those of x; exactly the same numbers.

    The squared exponential is a product over pixels, so that k(x, z_n) = k_free(x, z_n) g_n with fixed g: hence (1.1),
    (1.2) with g beta for beta and g A g for A. Pixels that do not change have attributions of zero, at no cost.
    """
    if isinstance(process, Stack):
        return Stack(tuple(on_pixels(part, x, free) for part in process.parts))
    if not isinstance(process, Posterior):
        raise TypeError(f"expected a Posterior or a Stack of them, got a {type(process).__name__}.")
    kernel, lengthscale = squared_exponential(process)
    g = torch.exp(-(((x - process.Z) / lengthscale)[:, ~free] ** 2).sum(1) / 2)
    A = replace(process.A, F=process.A.F * g)
    restricted = Scale(RBF(lengthscale[free]), kernel.variance)
    return Posterior(restricted, process.Z[:, free], process.beta * g, A, process.means, jitter=process.jitter)


def squared_exponential(process: Posterior) -> tuple[Scale, Float[Tensor, " d"]]:
    """The kernel of a posterior, a variance times a squared exponential, and its lengthscales.

    Raises:
        TypeError: the kernel is another one.
    """
    kernel = process.kernel
    if not isinstance(kernel, Scale) or not isinstance(kernel.kernel, RBF):
        raise TypeError(f"expected a scaled squared exponential kernel, got {kernel!r}.")
    return kernel, kernel.kernel.lengthscale.expand(process.features)
