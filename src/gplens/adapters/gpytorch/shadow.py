"""A shadow of a torch module to read from, and the live module's own predictions to compare with.

A shadow shares no tensor and no submodule with the live module, so that reading changes nothing of the user's. Other
attributes (locks, files, functions, plain objects) are shared: what they do now is compared in every explanation.
"""

import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any, TypeVar

import gpytorch
import torch
from gpytorch.variational._variational_strategy import _VariationalStrategy
from jaxtyping import Float
from linear_operator.utils.warnings import NumericalWarning
from torch import Tensor
from torch.nn import Module, Parameter

from gplens.adapters.reading import check_unchanged, compare_numbers
from gplens.lines.line import Line
from gplens.processes.process import Process

M = TypeVar("M", bound=Module)

DOUBLE = 1e-6
"""Largest difference to the host in float64, relative to the prior's scale. Observed: 1e-9 with K conditioned 1e10."""
SINGLE = 1e-2
"""The same to the host in float32, whose own solves lose that much with small noise."""
HINT = (
    "The model does something that its kernel, mean and inducing points do not tell (or is float32 and badly "
    "conditioned: call model.double() before it is fitted)."
)
CACHES = {"_memoize_cache": dict, "prediction_strategy": type(None)}
"""Attributes in which GPyTorch keeps results between predictions, and the type of an empty one."""
CONTAINERS = (dict, OrderedDict, list)
"""Types whose contents are copied with a module, and restored after a prediction of the live one."""


def shadow(module: M) -> M:
    """A copy of the module and its submodules: tensors in float64 on the CPU, without gradients and caches.

    The jitter of a variational strategy depends on the dtype in GPyTorch; the shadow keeps that of the live module.
    """
    copies: dict[int, Any] = {}
    replica = _copied(module, copies)
    for part in reachable_modules(module):
        if isinstance(part, _VariationalStrategy) and "_jitter_val" in vars(part):
            copies[id(part)]._jitter_val = part.jitter_val
    return replica


def _copied(value: Any, copies: dict[int, Any]) -> Any:
    """Modules, tensors and plain containers of them copied once each; anything else as it is."""
    kind: Any = type(value)
    if id(value) in copies:
        return copies[id(value)]
    if kind is tuple:
        return tuple(_copied(inner, copies) for inner in value)
    if kind is MethodType:
        return MethodType(value.__func__, _copied(value.__self__, copies))
    if isinstance(value, Tensor):
        dtype = torch.float64 if value.is_floating_point() else value.dtype
        copy: Any = value.detach().to(device="cpu", dtype=dtype, copy=True)
        copies[id(value)] = Parameter(copy, requires_grad=False) if isinstance(value, Parameter) else copy
    elif kind in CONTAINERS:
        copy = copies[id(value)] = kind()
        entries = _copied(tuple(value if kind is list else value.items()), copies)
        copy.extend(entries) if kind is list else copy.update(entries)
    elif isinstance(value, Module) and not isinstance(value, torch.jit.ScriptModule):
        copy = copies[id(value)] = kind.__new__(kind)
        empty = {name: CACHES[name]() for name in CACHES.keys() & vars(value).keys()}
        copy.__dict__ = {
            name: _copied(inner, copies) for name, inner in vars(value).items() if name not in empty
        } | empty
    return copies.get(id(value), value)


def reachable_modules(module: Module) -> list[Module]:
    """The module and all modules in its attributes, also in plain lists, tuples and dictionaries."""
    visited: dict[int, Any] = {}
    waiting: list[Any] = [module]
    while waiting:
        value = waiting.pop()
        if id(value) in visited or type(value) in (str, int, float, bool):
            continue
        visited[id(value)] = value
        if isinstance(value, Module):
            waiting.extend(vars(value).values())
        elif type(value) in (*CONTAINERS, tuple):
            waiting.extend(value.values() if isinstance(value, dict) else value)
    return [value for value in visited.values() if isinstance(value, Module)]


@contextmanager
def undisturbed(module: Module) -> Iterator[None]:
    """The live module in evaluation mode and without caches; afterwards all its attributes are as they were."""
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
            yield
    finally:
        for part, saved in zip(parts, attributes, strict=True):
            part.__dict__ = saved
        for value, content in zip(containers, contents, strict=True):
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


def state_of(module: Any) -> dict[str, Tensor]:
    """Copies of all that a fitted module has learned: parameters, buffers and training data."""
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    for name in ("train_inputs", "train_targets"):
        data = getattr(module, name, None)
        tensors |= {f"{name}[{i}]": part for i, part in enumerate((data,) if isinstance(data, Tensor) else data or ())}
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def predict(module: Any, points: Float[Tensor, "k d"]) -> tuple[Float[Tensor, "k c"], Float[Tensor, "k c"], Tensor]:
    """m and v of a module in evaluation mode, in its own precision, and its largest prior variance k(x, x)."""
    x = points.to(next(module.parameters()))
    with exactly():
        f, prior = module(x), module.forward(x).variance.max()
        m, v = (tensor if tensor.ndim == 2 else tensor[:, None] for tensor in (f.mean, f.variance))
        return m.double().cpu(), v.double().cpu(), prior.double().cpu()


def agree(
    process: Process,
    predicted: tuple[Float[Tensor, "k c"], Float[Tensor, "k c"], Tensor],
    points: Float[Tensor, "k d"],
    dtype: torch.dtype,
) -> str:
    """Refuse a process whose m or v is not the host's, up to rounding at the scale of the prior; else say how close.

    Where data have brought v down to nothing, rounding is still of the prior's scale.
    """
    (host_m, host_v, prior), limit = predicted, DOUBLE if dtype == torch.float64 else SINGLE
    at = process.along(Line.at(points))
    m, v = at.m[:, :, 0], at.v[:, :, 0]
    size = v.abs().max() + host_v.abs().max() + prior
    worst_m = compare_numbers("mean", m, host_m, limit * (host_m.abs().max() + size.sqrt()), HINT)
    smallest = gpytorch.settings.min_variance.value(dtype) or 0.0  # what the host raises smaller variances to
    worst_v = compare_numbers("variance", v, host_v, limit * size + smallest, HINT)
    return f"m and v equal the host's in {dtype} to {worst_m:.1e} and {worst_v:.1e} at {len(points)} points"


def compare_in_double(model: Any, replica: Any, process: Process, points: Float[Tensor, "k d"]) -> tuple[str, ...]:
    """Compare a process with the shadow that it was read from, where the live model has another precision."""
    if next(model.parameters()).dtype == torch.float64:
        return ()
    return (agree(process, predict(replica, points), points, torch.float64),)


def compare_live(
    model: Any, process: Process, state: dict[str, Tensor], points: Float[Tensor, "k d"]
) -> tuple[str, ...]:
    """Compare a process with the live model: with the tensors that were read, and with its predictions now."""
    with undisturbed(model):
        check_unchanged(type(model).__name__, state, state_of(model))
        return (agree(process, predict(model, points), points, next(model.parameters()).dtype),)
