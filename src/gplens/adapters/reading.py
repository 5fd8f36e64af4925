"""Read a user's model and likelihood as a Process and a Likelihood, by their types; hosts are imported when needed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder, read_points
from gplens.adapters.hosts import LIBRARIES, check_precision, importing_host
from gplens.likelihood import Likelihood
from gplens.lines.line import Line
from gplens.processes.process import Marginals, Process

Compare = Callable[[Float[Tensor, "k d"], Marginals], tuple[str, ...]]


def _nothing_to_compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
    return ()


@final
@dataclass(frozen=True)
class Reading:
    """A model as gplens sees it at the time of reading. `gplens.explain` takes it in place of the model."""

    process: Process
    model: str
    """Name of the model's class."""
    likelihood: Likelihood | None = None
    """The given likelihood, or the one that the model carries."""
    notes: tuple[str, ...] = ()
    """Facts for the provenance of an explanation: jitter, autograd, agreement with the host."""
    conjugate: bool = False
    """Whether the posterior holds for the model's own likelihood alone."""
    columns: tuple[str, ...] | None = None
    """Names of the features that the model was fitted on, where it knows them."""
    draws: tuple[int, ...] | None = None
    """Number of latent functions that each output is a mixture of (MATH 2.15), where there are draws of them."""
    encoder: Encoder | None = None
    """How tables become inputs, where columns are not inputs themselves."""
    default_baseline: Any = None
    """The baseline that the model keeps for explanations without one; None if it keeps none."""
    acquisition: str | None = None
    """Name of the acquisition function that is explained in place of the model's response; None for a model."""
    remark: str | None = None
    """How gradients are computed, where an explanation has to say it."""
    compare: Compare = _nothing_to_compare
    """Compares the live model's prediction at points with `at`, the marginals of `process`: a ValueError, or notes."""

    def compared(self, points: Float[Tensor, "k d"]) -> "Reading":
        """The same after a comparison with the live model at points, and with the live likelihood at f ~ N(m, v)."""
        at, likelihood = self.process.along(Line.at(points)), self.likelihood
        notes = (*self.notes, *self.compare(points, at))
        if likelihood is None or likelihood.near is None or likelihood.latents not in (None, self.process.latents):
            return replace(self, notes=notes)
        kept = replace(likelihood.near(at), outputs=likelihood.outputs, epistemic=likelihood.epistemic)
        return replace(self, notes=notes, likelihood=kept)


def read(model: Any, likelihood: Any = None, *, points: Any = None) -> Reading:
    """Read a model once, for many calls of `gplens.explain`, each of which compares it with the live model.

    Args:
        model: as for `gplens.explain`. It is left as it was.
        likelihood: as for `gplens.explain`; the model's own one if None.
        points: inputs (k, d) at which kernel and mean are compared with the model's own; its support points if None.

    Raises:
        ValueError, TypeError: if the model is not fitted or not supported.
    """
    table = read_points(model, points)
    with torch.inference_mode(False), torch.no_grad(), torch.random.fork_rng(devices=[]):
        reading = read_host(model, table)
        return reading if likelihood is None else with_likelihood(reading, likelihood)


def read_host(model: Any, points: Float[Tensor, "k d"] | None) -> Reading:
    """`read_model` of the host that the model comes from, which is imported first."""
    check_precision(model)
    with importing_host(model) as family:
        if family is None or not isinstance(model, family):
            return read_model(model, points)
        kinds = (kind for kind in type(model).__mro__ if issubclass(kind, family))  # though others may come first
        return next(read_model.registry[kind] for kind in kinds if kind in read_model.registry)(model, points)


@singledispatch
def read_model(model: object, points: Float[Tensor, "k d"] | None) -> Reading:
    """Read a model of a registered type; every adapter registers its types here."""
    raise TypeError(
        f"expected a gplens.Posterior or a model of {LIBRARIES}, got {_name(model)}; give any other "
        "Gaussian process as gplens.Posterior.from_arrays(kernel, Z, beta, A), or as two functions: "
        "gplens.Functions(mean, variance, features=d)."
    )


def with_likelihood(reading: Reading, likelihood: Any) -> Reading:
    """The same model with a given likelihood; `compare` probes it again where it does not compare itself."""
    given = _agreed(reading, read_host_likelihood(likelihood))
    if given.near is not None:
        return replace(reading, likelihood=given)
    probes = probe_likelihood(likelihood)

    def compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        check_unchanged(given.name, probes, probe_likelihood(likelihood))
        return reading.compare(points, at)

    return replace(reading, likelihood=given, compare=compare)


def read_host_likelihood(likelihood: Any) -> Likelihood:
    """`read_likelihood` of the host that the likelihood comes from, which is imported first."""
    check_precision(likelihood)
    with importing_host(likelihood):
        return read_likelihood(likelihood)


@singledispatch
def read_likelihood(likelihood: object) -> Likelihood:
    """Read a likelihood of a registered type; every adapter registers its types here."""
    raise TypeError(
        f"expected a likelihood of {LIBRARIES}, got {_name(likelihood)}; give the inverse link instead, "
        "such as gplens.links.Exp()."
    )


@singledispatch
def probe_likelihood(likelihood: object) -> dict[str, Tensor]:
    """Numbers that change when a host's likelihood changes; none for gplens' own ones, which are frozen."""
    return {}


def check_unchanged(name: str, before: dict[str, Tensor], now: dict[str, Tensor]) -> None:
    """Refuse a live object one of whose tensors is not the one that was read."""
    for key in dict.fromkeys((*before, *now)):
        old, new = before.get(key), now.get(key)
        if old is None or new is None or not _same(old, new):
            raise ValueError(f"expected the {name} that was read, got one whose {key} has changed since.")


def _same(old: Tensor, new: Tensor) -> bool:
    return torch.equal(old, new) or (
        old.shape == new.shape and bool(((old == new) | (old.isnan() & new.isnan())).all())  # such as missing targets
    )


def check_columns(fitted: int, points: Float[Tensor, "k d"] | None) -> None:
    """Refuse points with another number of features than the model was fitted on."""
    if points is not None and points.shape[1] != fitted:
        raise ValueError(f"expected X with the {fitted} columns that the model was fitted on, got {points.shape[1]}.")


def compare_numbers(
    what: str, ours: Float[Tensor, "*k"], host: Float[Tensor, "*k"], limit: Tensor | float, hint: str
) -> float:
    """The largest difference between numbers computed by gplens and by the host; a ValueError above the limit."""
    if ours.shape != host.shape:
        raise ValueError(
            f"expected a {what} of shape {tuple(ours.shape)} from the model, got {tuple(host.shape)}. {hint}"
        )
    difference = (ours - host).abs()
    if not bool(difference.max() <= limit):
        i = int(difference.argmax())
        raise ValueError(
            f"expected a {what} of {float(ours.flatten()[i]):.10g} from the parts of the model, got "
            f"{float(host.flatten()[i]):.10g} from its own prediction; gplens would not explain your model. {hint}"
        )
    return float(difference.max())


def _agreed(reading: Reading, given: Likelihood) -> Likelihood:
    """The given likelihood, unless the model was conditioned on data through another one."""
    fitted = reading.likelihood
    if fitted is None:
        return given
    if reading.conjugate and given.response != fitted.response:
        raise ValueError(
            f"expected the likelihood that {reading.model} was fitted with, {fitted.name}, got {given.name}; leave "
            "likelihood= out, or explain a function of the latent values with target=gplens.targets.Custom(g)."
        )
    return replace(given, outputs=given.outputs or fitted.outputs, epistemic=given.epistemic or fitted.epistemic)


def _name(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
