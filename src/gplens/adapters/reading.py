"""From a user's model and likelihood to a Process and a Likelihood: dispatch on the type, hosts loaded when used."""

from dataclasses import dataclass
from functools import singledispatch
from importlib import import_module
from typing import Any, final

from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import Expectation
from gplens.likelihood import Likelihood
from gplens.links import Link
from gplens.processes.functions import Functions
from gplens.processes.process import Process

HOSTS = {
    "gpytorch": "gplens.adapters.gpytorch",
    "sklearn": "gplens.adapters.sklearn",
    "botorch": "gplens.adapters.botorch",
}
"""The packages whose models are understood, and the module that registers them. A new host is one line here."""


@final
@dataclass(frozen=True)
class Adapted:
    """A host's model, as gplens sees it."""

    process: Process
    model: str
    """What it was, in a few words."""
    likelihood: Likelihood | None = None
    """The one that the model carries, if it does."""
    notes: tuple[str, ...] = ()
    """What a careful reader of the explanation should know: jitter, autograd, checks."""
    conjugate: bool = False
    """Whether the inference holds for the model's own likelihood alone."""
    columns: tuple[str, ...] | None = None
    """The names of the features that the model was fitted on, where it knows them."""
    draws: tuple[int, ...] | None = None
    """How many latent functions each output is a mixture of (MATH 2.15), where the model has draws of them."""

    def agreed(self, likelihood: Likelihood) -> Likelihood:
        """A given likelihood, unless the model was conditioned through another kind."""
        if self.conjugate and self.likelihood is not None and likelihood.response != self.likelihood.response:
            raise ValueError(
                f"{self.model} was fitted with {self.likelihood.name}; {likelihood.name} does not fit it. Leave "
                "likelihood= out, or explain a function of the latent values with target=gplens.targets.Custom(g)."
            )
        return likelihood


@singledispatch
def adapt(model: object, points: Float[Tensor, "k d"]) -> Adapted:
    """The process behind a model, checked against the host's own prediction at `points`."""
    raise TypeError(
        f"gplens cannot explain a {_name(model)}: it is not a gplens.Posterior nor a model of {', '.join(HOSTS)}. "
        "Any Gaussian process can be given as gplens.Posterior.from_arrays(kernel, Z, beta, A), or as two functions: "
        "gplens.Functions(mean, variance, features=d)."
    )


@singledispatch
def read_likelihood(likelihood: object) -> Likelihood:
    """What a host's likelihood says of y given f."""
    raise TypeError(
        f"gplens cannot read a likelihood from a {_name(likelihood)}; wanted was a likelihood of "
        f"{', '.join(HOSTS)}, or a link such as gplens.links.Exp()."
    )


@adapt.register
def _(model: Process, points: Float[Tensor, "k d"]) -> Adapted:
    return Adapted(model, type(model).__name__)


@adapt.register
def _(model: Functions, points: Float[Tensor, "k d"]) -> Adapted:
    if points.shape[1] == model.features:  # else explain() says so
        model.check(points)
    note = f"rows are independent and gradients those of the values at {len(points)} points"
    return Adapted(model, "Functions", notes=(note,))


@read_likelihood.register
def _(likelihood: Likelihood) -> Likelihood:
    return likelihood


@read_likelihood.register
def _(likelihood: Link) -> Likelihood:
    return Likelihood.of_link(likelihood)


@read_likelihood.register
def _(likelihood: Expectation) -> Likelihood:
    return Likelihood(repr(likelihood), likelihood)


def load_host(thing: Any) -> None:
    """Import the adapter of the package that a model or likelihood comes from, so that it is registered."""
    if isinstance(thing, type):
        raise TypeError(f"Got the class {thing.__name__}; wanted was a fitted instance of it.")
    roots = (base.__module__.partition(".")[0] for base in type(thing).__mro__)
    host = next((HOSTS[root] for root in roots if root in HOSTS), None)
    family = getattr(import_module(host), "FAMILY", None) if host else None
    if family is not None and isinstance(thing, family):  # though its first base may be another host's
        adapt.register(type(thing), adapt.dispatch(family))


def _name(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def compare(what: str, ours: Float[Tensor, "*k"], host: Float[Tensor, "*k"], limit: Tensor | float, hint: str) -> float:
    """The largest difference between a number read from a model and the one that its library prints; refuse above."""
    if ours.shape != host.shape:
        got = f"{tuple(host.shape)} from the model and {tuple(ours.shape)} from its parts"
        raise ValueError(f"The model predicts a {what} of another shape than gplens reads from it: {got}.")
    difference = (ours - host).abs()
    i = int(difference.argmax())
    if not bool(difference.max() <= limit):
        raise ValueError(
            f"The {what} that gplens reads from the model is {float(ours.flatten()[i]):.10g} where the model itself "
            f"predicts {float(host.flatten()[i]):.10g}. What is explained would not be your model, so that gplens "
            f"refuses. {hint}"
        )
    return float(difference.max())
