"""One model of BoTorch, read as latent functions of raw inputs in the units of a Gaussian outcome."""

from dataclasses import dataclass
from functools import partial
from math import log
from typing import Any, final

import torch
from botorch.models.approximate_gp import ApproximateGPyTorchModel
from botorch.models.model import Model
from botorch.models.multitask import MultiTaskGP
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.botorch.inputs import read_inputs
from gplens.adapters.botorch.latents import read_exact, read_sparse
from gplens.adapters.botorch.outcomes import read_outcome
from gplens.adapters.botorch.predictions import compare_live, compare_with, read_noise
from gplens.adapters.gpytorch.live import Snapshot
from gplens.adapters.gpytorch.live_prior import LivePrior
from gplens.adapters.gpytorch.modules import reference, shadow
from gplens.adapters.reading import Compare
from gplens.adapters.support_points import between_neighbours
from gplens.expectations.expectation import Expectation, ExpectedLink
from gplens.expectations.hyperparameters import over_hyperparameters
from gplens.expectations.variances import LatentVariance, OutcomeVariance
from gplens.likelihood import Likelihood
from gplens.lines.line import Line
from gplens.links import Exp, Identity, Link, Probit
from gplens.processes.process import Process


@final
@dataclass(frozen=True, eq=False)
class Part:
    """Latent functions of one model, with their outcome transforms, noise and outputs."""

    process: Process
    links: tuple[Link, ...]
    """From the Gaussian outcome to the raw one, for each latent function."""
    noise: tuple[float, ...] | None
    """The variance of an observation given each latent function; None if it is not constant."""
    draws: tuple[int, ...]
    """The number of latent functions of which each output is a mixture."""
    notes: tuple[str, ...]
    compare: Compare
    """As `compare` of a Reading."""
    conjugate: bool


def read_part(model: Any, points: Float[Tensor, "k d"]) -> Part:
    """Read a shadow of the model and compare the shadow's posterior; `compare` evaluates the live model."""
    replica, sparse = _evaluated_shadow(model), isinstance(model, ApproximateGPyTorchModel)
    outputs = 1 if isinstance(model, MultiTaskGP) else replica.num_outputs
    draws = (replica.num_mcmc_samples,) if replica._is_fully_bayesian else (1,) * outputs
    inputs, outcome = read_inputs(replica, points), read_outcome(replica, outputs)
    if sparse:
        process, notes = read_sparse(replica, inputs, outcome, points)
    else:
        process, notes = read_exact(replica, sum(draws), inputs, outcome, points)
    links = (outcome.link,) * sum(draws)
    response = over_hyperparameters(ExpectedLink(links), draws)
    if reference(model).dtype != torch.float64:
        notes = (*notes, compare_with(replica, response, outcome.scale, points, process.along(Line.at(points))))
    prior = None if sparse else LivePrior.of(process, float(outcome.scale[0]), float(outcome.shift[0]))
    beside, snapshot = (
        points[:0] if sparse else between_neighbours(process, raw_inputs(replica)),
        Snapshot(model, process, prior),
    )
    compare = partial(compare_live, model, process, response, outcome.scale, snapshot, beside)
    return Part(process, links, read_noise(replica, points), draws, notes, compare, conjugate=not sparse)


def raw_inputs(model: Any) -> Float[Tensor, "n d"]:
    """The training inputs of an exact model before its transform; those of several outputs one after another."""
    raw = model._original_train_inputs if model._has_transformed_inputs else model.train_inputs[0]
    return raw.detach().to("cpu", torch.float64).flatten(0, -2)


def _evaluated_shadow(model: Any) -> Any:
    """A shadow in evaluation mode, whose raw training inputs are transformed in float64, without cached results."""
    replica = shadow(model)
    for part in replica.modules():
        if isinstance(part, Model):
            part._revert_to_original_inputs()
    return replica.eval()


def likelihood_of(parts: tuple[Part, ...]) -> Likelihood:
    """posterior(X).mean as the response, with the noise of observations if it is constant."""
    links = sum((part.links for part in parts), ())
    name, response = "BoTorch's posterior mean", ExpectedLink(links)
    epistemic = _variance(links, (0.0,) * len(links))
    if any(part.noise is None for part in parts):
        return Likelihood(name, response, latents=len(links), epistemic=epistemic)
    noise = sum((part.noise or () for part in parts), ())

    def exceeds(t: float) -> ExpectedLink:
        levels = [_level(link, t) for link in links]
        pairs = zip(levels, noise, strict=True)
        return ExpectedLink(tuple(Probit(shift=level, noise=extra) for level, extra in pairs))

    return Likelihood(name, response, _variance(links, noise), exceeds, len(links), epistemic=epistemic)


def _variance(links: tuple[Link, ...], noise: tuple[float, ...]) -> Expectation:
    """posterior(X).variance, with the noise of observations."""
    if all(link == Identity() for link in links):
        return LatentVariance(noise)
    return OutcomeVariance(tuple(link == Exp() for link in links), noise)  # (2.10a)


def _level(link: Link, t: float) -> float:
    """The value of the Gaussian outcome at which the raw one is t."""
    if link == Identity():
        return t
    if t <= 0:
        raise ValueError(
            f"expected a level above zero, got Exceeds({t:g}); an outcome that was fitted by its logarithm is above "
            "zero for certain."
        )
    return log(t)
