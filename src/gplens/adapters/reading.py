"""Read a user's model and likelihood as a Process and a Likelihood, by their types. Hosts are imported on first use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import singledispatch
from importlib import import_module
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder
from gplens.adapters.hosts import HOSTS, LIBRARIES
from gplens.adapters.tables import read_table
from gplens.likelihood import Likelihood
from gplens.lines.line import Line
from gplens.processes.process import Marginals, Process

Compare = Callable[[Float[Tensor, "k d"], Marginals], tuple[str, ...]]


def _nothing_to_compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
    return ()


@final
@dataclass(frozen=True)
class Reading:
    """A model as it was read. `gplens.explain` takes it in place of the model.

    Example:
        >>> prepared = gplens.read(gp, gplens.links.Identity())
        >>> prepared.model, prepared.process is gp
        ('Posterior', True)
    """

    process: Process
    model: str
    """Name of the model's class."""
    likelihood: Likelihood | None = None
    """The given likelihood, or the model's own one."""
    notes: tuple[str, ...] = ()
    """Facts for the provenance of an explanation: jitter, autograd, agreement with the host."""
    conjugate: bool = False
    """Whether the posterior is valid only with the model's own likelihood."""
    columns: tuple[str, ...] | None = None
    """Names of the features that the model was fitted on; None if it does not have them."""
    draws: tuple[int, ...] | None = None
    """The number of hyper-parameter draws of each output, a mixture over them (MATH 2.15); None without draws."""
    encoder: Encoder | None = None
    """The encoder from tables to inputs; None if the columns are the inputs."""
    default_baseline: Any = None
    """The default baseline of the model; None if it has none."""
    acquisition: str | None = None
    """Name of the acquisition function that is explained in place of the model's response; None for a model."""
    remark: str | None = None
    """A remark on how gradients are computed, to be shown with explanations; None if there is none."""
    compare: Compare = _nothing_to_compare
    """Compares the live model's prediction at points with `at`, the marginals of `process`: raises a ValueError, or
    returns notes."""

    def compared(self, points: Float[Tensor, "k d"], at: Marginals | None = None) -> "Reading":
        """The same reading, after a comparison with the live model at points, and the live likelihood at f ~ N(m, v).

        `at` are the marginals of the process at the points, computed here if they are not given.
        """
        at, likelihood = self.process.along(Line.at(points)) if at is None else at, self.likelihood
        notes = (*self.notes, *self.compare(points, at))
        if likelihood is None or likelihood.near is None or likelihood.latents not in (None, self.process.latents):
            return replace(self, notes=notes)
        kept = replace(likelihood.near(at), outputs=likelihood.outputs, epistemic=likelihood.epistemic)
        return replace(self, notes=notes, likelihood=kept)


def read(model: Any, likelihood: Any = None, *, points: Any = None) -> Reading:
    """Read a model once, for many calls of `gplens.explain`. Each call compares the result with the live model.

    Args:
        model: as for `gplens.explain`. It is not changed.
        likelihood: as for `gplens.explain`; the model's own one if None.
        points: inputs (k, d) at which kernel and mean are compared with the model's; its support points if None.

    Raises:
        ValueError, TypeError: if the model is not fitted or not supported.

    Returns:
        A Reading, which `gplens.explain` takes in place of the model.

    Example:
        >>> prepared = gplens.read(gp, gplens.links.Identity())
        >>> for batch in X.split(2):
        ...     e = gplens.explain(prepared, batch, baseline=0.0)
        >>> len(e)
        1
    """
    table = read_points(model, points)
    with torch.inference_mode(False), torch.no_grad(), torch.random.fork_rng(devices=[]):
        reading = read_host(model, table)
        return reading if likelihood is None else with_likelihood(reading, likelihood)


def read_host(model: Any, points: Float[Tensor, "k d"] | None) -> Reading:
    """Import the adapter of the model's host, and call its `read_model`."""
    check_precision(model)
    with importing_host(model) as family:
        if family is None or not isinstance(model, family):
            return read_model(model, points)
        kinds = (kind for kind in type(model).__mro__ if issubclass(kind, family))  # though other bases may come first
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
    """The same reading with a given likelihood; `compare` evaluates it again if the likelihood has no comparison."""
    given = _agreed(reading, read_host_likelihood(likelihood))
    if given.near is not None:
        return replace(reading, likelihood=given)
    probes = probe_likelihood(likelihood)

    def compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        check_unchanged(given.name, probes, probe_likelihood(likelihood))
        return reading.compare(points, at)

    return replace(reading, likelihood=given, compare=compare)


def read_host_likelihood(likelihood: Any) -> Likelihood:
    """Import the adapter of the likelihood's host, and call its `read_likelihood`."""
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
    """Numbers that change when a host's likelihood changes; none for likelihoods of gplens, which are frozen."""
    return {}


def check_unchanged(name: str, before: dict[str, Tensor], now: dict[str, Tensor]) -> None:
    """Refuse a live object if one of its tensors differs from the one that was read."""
    for key in dict.fromkeys((*before, *now)):
        old, new = before.get(key), now.get(key)
        if old is None or new is None or not _same(old, new):
            raise ValueError(f"expected the {name} that was read, got one whose {key} has changed since.")


def _same(old: Tensor, new: Tensor) -> bool:
    return torch.equal(old, new) or (
        old.shape == new.shape and bool(((old == new) | (old.isnan() & new.isnan())).all())  # such as missing targets
    )


def check_columns(fitted: int, points: Float[Tensor, "k d"] | None) -> None:
    """Refuse points whose number of features differs from that of the model."""
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
    """The given likelihood; an error if the model was conditioned on data with another one."""
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


def check_precision(thing: Any) -> None:
    """Refuse a torch module without values, or in a precision in which its host cannot predict, without Cholesky."""
    for name, parameter in thing.named_parameters() if isinstance(thing, torch.nn.Module) else ():
        if parameter.is_meta:
            raise ValueError(
                f'expected parameters with values, got {name} of {type(thing).__name__} on the device "meta", which '
                'holds none; call model.to_empty(device="cpu") and load its state.'
            )
        if parameter.is_floating_point() and parameter.dtype not in (torch.float32, torch.float64):
            raise ValueError(
                f"expected parameters in float32 or float64, got {name} of {type(thing).__name__} in "
                f"{parameter.dtype}, in which its library cannot predict; call model.float()."
            )


@contextmanager
def importing_host(thing: Any) -> Iterator[type | None]:
    """Import the adapter of an object's library; raise an error if its version lacks what the adapter reads."""
    if isinstance(thing, type):
        raise TypeError(f"expected a fitted instance, got the class {thing.__name__}; create and fit one.")
    roots = [kind.__module__.partition(".")[0] for kind in type(thing).__mro__]
    host = next((HOSTS[root] for root in sorted(roots, key="gplens".__ne__) if root in HOSTS), None)  # gplens first
    try:
        yield None if host is None else getattr(import_module(host.adapter), "FAMILY", None)
    except (ImportError, AttributeError) as cause:
        error = cause if host is None else host.explained(cause)
        if error is cause:
            raise
        raise error from cause


def encoder_of(model: object) -> Encoder | None:
    """The encoder of a model, whose host is imported first; None for a model of plain numbers."""
    with importing_host(model):
        return read_encoder(model)


@singledispatch
def read_encoder(model: object) -> Encoder | None:
    """The attribute `encoder` of a model, if it has one; adapters register other types here."""
    encoder = getattr(model, "encoder", None)
    return encoder if isinstance(encoder, Encoder) else None


def read_points(model: object, points: Any) -> Float[Tensor, "k e"] | None:
    """Inputs of a model, from rows of a table, or from a tensor of rows that are encoded already."""
    encoder = None if isinstance(points, Tensor) else encoder_of(model)
    if points is None:
        return None
    return read_table(points, "points").values if encoder is None else encoder.read(points, "points")[0].values
