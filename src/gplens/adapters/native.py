"""Reading the objects of gplens itself: processes, functions, links, likelihoods and estimators."""

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.estimators import FittedEstimator
from gplens.adapters.reading import Reading, compare_numbers, read_likelihood, read_model
from gplens.expectations.expectation import Expectation
from gplens.likelihood import Likelihood
from gplens.links import Link
from gplens.processes.functions import Functions
from gplens.processes.posterior import Posterior
from gplens.processes.process import Marginals, Process
from gplens.processes.stack import Stack

FAMILY = FittedEstimator
"""The host of estimators, whatever else they inherit from."""
ROUNDING = 1e-9
"""The largest accepted difference of two evaluations of (1.1), relative to the sum of the sizes of its terms."""
CHANGED = "A tensor of the Posterior or of its kernel was changed in place after it was created; create a new one."


@read_model.register
def _(model: Process, points: Float[Tensor, "k d"] | None) -> Reading:
    """A process is used as it is; `compare` checks that the tensors of posteriors are those of their creation.

    A Posterior computes scaled copies of its support points and weights, which a change in place would not reach.
    """

    def compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        latent = 0
        for part in model.parts if isinstance(model, Stack) else (model,):
            if isinstance(part, Posterior):
                k, mu = part.kernel(points, part.Z), torch.stack([mean(points) for mean in part.means], dim=1)
                size = mu.abs() + k.abs() @ part.beta.abs().mT
                ours, now = at.m[:, latent : latent + part.latents, 0], mu + k @ part.beta.mT  # (1.1)
                compare_numbers("mean", ours, now, ROUNDING * float(size.max()), CHANGED)
            latent += part.latents
        return ()

    return Reading(model, type(model).__name__, compare=compare)


@read_model.register
def _(model: Functions, points: Float[Tensor, "k d"] | None) -> Reading:
    """A mean and a variance function; `compare` checks that rows are independent and autograd gradients are right."""

    def compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        model.check(points)
        return (f"rows are independent and gradients those of the values at {len(points)} points",)

    return Reading(model, "Functions", compare=compare)


@read_likelihood.register
def _(likelihood: Likelihood) -> Likelihood:
    return likelihood


@read_likelihood.register
def _(likelihood: Link) -> Likelihood:
    return Likelihood.of_link(likelihood)


@read_likelihood.register
def _(likelihood: Expectation) -> Likelihood:
    return Likelihood(repr(likelihood), likelihood)
