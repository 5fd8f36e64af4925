"""Reading the objects of gplens itself: processes, functions, links, likelihoods and estimators."""

from jaxtyping import Float
from torch import Tensor

from gplens.adapters.estimators import FittedEstimator
from gplens.adapters.reading import Reading, read_likelihood, read_model
from gplens.expectations.expectation import Expectation
from gplens.likelihood import Likelihood
from gplens.links import Link
from gplens.processes.functions import Functions
from gplens.processes.process import Marginals, Process

FAMILY = FittedEstimator
"""The host of estimators, whatever else they inherit from."""


@read_model.register
def _(model: Process, points: Float[Tensor, "k d"] | None) -> Reading:
    """A process is used as it is, since there is no host to compare it with."""
    return Reading(model, type(model).__name__)


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
