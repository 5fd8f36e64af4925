"""Reading the objects of gplens itself: processes, functions, links, likelihoods and estimators."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.estimators import FittedEstimator
from gplens.adapters.reading import Reading, compare_numbers, read_likelihood, read_model
from gplens.expectations.expectation import Expectation
from gplens.likelihood import Likelihood
from gplens.lines.line import Line
from gplens.links import Link
from gplens.processes.curved import Curved
from gplens.processes.cut import Cut
from gplens.processes.functions import Functions
from gplens.processes.mix import Mix, MixMarginals
from gplens.processes.posterior import Posterior
from gplens.processes.process import Marginals, Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import Transformed

FAMILY = FittedEstimator
"""The host of estimators, whatever else they inherit from."""
ROUNDING = 1e-9
"""The largest accepted difference of two evaluations of (1.1) or (1.2), relative to the summed sizes of its terms."""
TINY = torch.finfo(torch.float64).tiny
"""Smaller numbers have fewer digits than `ROUNDING` asks for."""
VARIANCES = 4
"""The number of points at which variances are compared. They take one pass over A, as one row of a target does."""
CHANGED = "A tensor of the Posterior or of its kernel was changed in place after it was created; create a new one."


@read_model.register
def _(model: Process, points: Float[Tensor, "k d"] | None) -> Reading:
    """A process is used as it is; `compare` checks that the tensors of all its posteriors are those of their creation.

    A Posterior keeps scaled copies of its support points and weights, and A as one matrix, which a change in place
    would not reach.
    """

    def compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        for posterior, x, now, latents in _posteriors(model, points, at):
            if (changed := posterior.changed()) is not None:
                raise ValueError(f"expected the tensors of the Posterior's creation, got another {changed}. {CHANGED}")
            k, mu = posterior.kernel(x, posterior.Z), torch.stack([mean(x) for mean in posterior.means], dim=1)
            size = mu.abs() + k.abs() @ posterior.beta.abs().mT
            m = mu + k @ posterior.beta.mT  # (1.1)
            compare_numbers("mean", now.m[:, latents, 0], m, ROUNDING * float(size.max()) + TINY, CHANGED)
        few = points[:: -(-len(points) // VARIANCES)]
        at_few = at if len(few) == len(points) else model.along(Line.at(few))
        for posterior, x, now, latents in _posteriors(model, few, at_few):
            whitened = posterior.A.whiten(posterior.kernel(x, posterior.Z)[None])[0]
            terms = posterior.A.s[:, None] * whitened**2
            prior, ours = posterior.kernel.diagonal(x)[:, None] + posterior.jitter, now.v[:, latents, 0]
            size, v = prior + terms.abs().sum(2).mT, (prior - terms.sum(2).mT).expand_as(ours)  # (1.2)
            compare_numbers("variance", ours, v, ROUNDING * float(size.max()) + TINY, CHANGED)
        return ()

    return Reading(model, type(model).__name__, compare=compare)


def _posteriors(
    process: Process, x: Float[Tensor, "k d"], at: Marginals
) -> Iterator[tuple[Posterior, Float[Tensor, "k e"], Marginals, slice]]:
    """All posteriors that a process consists of, with their inputs at points x and marginals that hold theirs.

    The slice tells which latent functions of the marginals are those of the posterior.
    """
    match process:
        case Posterior():
            yield process, x, at, slice(0, process.latents)
        case Stack():
            first = 0
            for part in process.parts:
                if isinstance(part, Posterior):
                    yield part, x, at, slice(first, first + part.latents)
                else:
                    yield from _posteriors(part, x, part.along(Line.at(x)))
                first += part.latents
        case Mix() | Cut():
            yield from _posteriors(process.base, x, at.base if isinstance(at, MixMarginals) else at)
        case Transformed():
            mapped = process.map(x)
            yield from _posteriors(process.base, mapped, process.base.along(Line.at(mapped)))
        case Curved():
            mapped = process.phi.at(x).values
            yield from _posteriors(process.base, mapped, process.base.along(Line.at(mapped)))
        case _:
            return


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
