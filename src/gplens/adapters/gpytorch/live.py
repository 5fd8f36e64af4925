"""The live torch module: its own predictions, asked for without a trace, to compare with."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any, final

import gpytorch
import torch
from jaxtyping import Float
from linear_operator.utils.warnings import NumericalWarning
from torch import Tensor
from torch.nn import Module

from gplens.adapters.gpytorch.shadow import CACHES, CONTAINERS, reachable_modules
from gplens.adapters.reading import check_unchanged, compare_numbers
from gplens.lines.line import Line
from gplens.processes.process import Process

DOUBLE = 1e-6
"""Largest difference to the host in float64, relative to the prior's scale. Observed: 1e-9 with K conditioned 1e10."""
SINGLE = 1e-2
"""The same to the host in float32, whose own solves lose that much with small noise."""
HINT = (
    "The model does something that its kernel, mean and inducing points do not tell (or is float32 and badly "
    "conditioned: call model.double() before it is fitted)."
)


@contextmanager
def undisturbed(module: Module) -> Iterator[list[Module]]:
    """The live module in evaluation mode and without caches; afterwards all its attributes are as they were.

    Yields the module and all modules in its attributes.
    """
    parts = reachable_modules(module)
    attributes = [dict(vars(part)) for part in parts]
    containers = [value for saved in attributes for value in saved.values() if type(value) in CONTAINERS]
    contents = [value.copy() for value in containers]
    buffers = [(buffer, buffer.detach().clone()) for part in parts for buffer in part.buffers(recurse=False)]
    try:
        with torch.random.fork_rng(devices=[]):
            for part in parts:
                for name in CACHES.keys() & vars(part).keys():
                    setattr(part, name, CACHES[name]())
            module.eval()
            yield parts
    finally:
        for part, saved in zip(parts, attributes, strict=True):
            part.__dict__ = saved
        for value, content in zip(containers, contents, strict=True):
            if value or content:
                _restore(value, content)
        for buffer, saved in buffers:
            if not torch.equal(buffer, saved):
                buffer.data.copy_(saved)


def _restore(value: Any, content: Any) -> None:
    """Write a container only where an entry was added, removed or exchanged."""
    entries, saved = (list(v) if isinstance(v, list) else [*v, *v.values()] for v in (value, content))
    if [id(entry) for entry in entries] != [id(entry) for entry in saved]:
        value.clear()
        value.extend(content) if isinstance(value, list) else value.update(content)


@final
class Snapshot:
    """What a fitted module had learned when it was read, and what the host has computed from it since.

    GPyTorch keeps its factorisations between predictions. Those of a comparison are kept here, not in the user's model,
    and serve the next comparison as long as every tensor and every number in an attribute is the same. The rest of a
    prediction is computed anew: the prior at the points and k(x, Z), in which any other change of the prior shows.
    That holds for kernels that were read as formulas. One that calls the model's own code changes with it, so that
    only the factorisation of now can tell; nothing is kept then.
    """

    def __init__(self, module: Any, process: Process) -> None:
        self.keeps = not process.autograd
        with undisturbed(module):  # models of BoTorch transform their training data in evaluation mode
            self.tensors = {name: tensor.detach().clone() for name, tensor in _tensors(module).items()}
        self.numbers: list[Any] = []
        self.caches: list[dict[str, Any]] = []

    @contextmanager
    def predicting(self, module: Any) -> Iterator[None]:
        """The live module in evaluation mode, refused if its tensors have changed; afterwards it is as it was."""
        with undisturbed(module) as parts:
            check_unchanged(type(module).__name__, self.tensors, _tensors(module))
            numbers = _numbers(parts)
            if self.keeps and numbers == self.numbers:
                for part, caches in zip(parts, self.caches, strict=True):
                    for name, cache in caches.items():
                        setattr(part, name, copy(cache))
            yield
            self.numbers = numbers
            self.caches = [{name: getattr(part, name) for name in CACHES.keys() & vars(part).keys()} for part in parts]


def _tensors(module: Any) -> dict[str, Tensor]:
    """All that a fitted module has learned: parameters, buffers and training data."""
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    for name in ("train_inputs", "train_targets"):
        data = getattr(module, name, None)
        tensors |= {f"{name}[{i}]": part for i, part in enumerate((data,) if isinstance(data, Tensor) else data or ())}
    return tensors


def _numbers(parts: list[Module]) -> list[Any]:
    """The numbers and texts in the attributes of modules, and which modules they are."""
    return [
        (id(part), {name: value for name, value in vars(part).items() if type(value) in (bool, int, float, str)})
        for part in parts
    ]


@contextmanager
def exactly() -> Iterator[None]:
    """Predictions of GPyTorch by Cholesky, whatever their size: conjugate gradients have an error of their own."""
    with (
        torch.no_grad(),
        without_warnings_of_jitter(),
        gpytorch.settings.max_cholesky_size(10**9),
        gpytorch.settings.fast_pred_var(False),
        gpytorch.settings.skip_posterior_variances(False),
        gpytorch.settings.debug(False),
    ):
        yield


def without_warnings_of_jitter() -> warnings.catch_warnings:
    """For predictions at points that may coincide, where GPyTorch factorises in passing what is not used."""
    return warnings.catch_warnings(action="ignore", category=NumericalWarning)


@final
@dataclass(frozen=True, eq=False)
class Predicted:
    """The predictions of a host at points, in its own precision."""

    m: Float[Tensor, "k c"]
    v: Float[Tensor, "k c"]
    prior: Callable[[], Float[Tensor, ""]]
    """The largest prior variance k(x, x) at the points, evaluated if it is needed."""


def predict(module: Any, points: Float[Tensor, "k d"]) -> Predicted:
    """m and v of a module in evaluation mode."""
    x = points.to(next(module.parameters()))

    def prior() -> Float[Tensor, ""]:
        with exactly():
            return module.forward(x).variance.max().double().cpu()

    with exactly():
        f = module(x)
        m, v = (tensor if tensor.ndim == 2 else tensor[:, None] for tensor in (f.mean, f.variance))
        return Predicted(m.double().cpu(), v.double().cpu(), prior)


def agree(process: Process, predicted: Predicted, points: Float[Tensor, "k d"], dtype: torch.dtype) -> str:
    """Refuse a process whose m or v is not the host's, up to rounding at the scale of the prior; else say how close.

    Where data have brought v down to nothing, rounding is still of the prior's scale.
    """
    host_m, host_v, limit = predicted.m, predicted.v, DOUBLE if dtype == torch.float64 else SINGLE
    at = process.along(Line.at(points))
    m, v = at.m[:, :, 0], at.v[:, :, 0]
    size = v.abs().max() + host_v.abs().max()
    if not (_within(m, host_m, limit * size.sqrt()) and _within(v, host_v, limit * size)):
        size = size + predicted.prior()
    worst_m = compare_numbers("mean", m, host_m, limit * (host_m.abs().max() + size.sqrt()), HINT)
    smallest = gpytorch.settings.min_variance.value(dtype) or 0.0  # what the host raises smaller variances to
    worst_v = compare_numbers("variance", v, host_v, limit * size + smallest, HINT)
    return f"m and v equal the host's in {dtype} to {worst_m:.1e} and {worst_v:.1e} at {len(points)} points"


def _within(ours: Tensor, host: Tensor, limit: Tensor) -> bool:
    return ours.shape == host.shape and bool((ours - host).abs().max() <= limit)


def compare_in_double(model: Any, replica: Any, process: Process, points: Float[Tensor, "k d"]) -> tuple[str, ...]:
    """Compare a process with the shadow that it was read from, where the live model has another precision."""
    if next(model.parameters()).dtype == torch.float64:
        return ()
    return (agree(process, predict(replica, points), points, torch.float64),)


def compare_live(model: Any, process: Process, snapshot: Snapshot, points: Float[Tensor, "k d"]) -> tuple[str, ...]:
    """Compare a process with the live model: with what was read, and with its predictions now."""
    with snapshot.predicting(model):
        dtype = next(model.parameters()).dtype
        try:
            return (agree(process, predict(model, points), points, dtype),)
        except ValueError:
            for x in points.split(1):  # beside points that are far away the host loses digits of the others
                agree(process, predict(model, x), x, dtype)
            return (f"m and v equal the host's in {dtype} at each of {len(points)} points alone",)
