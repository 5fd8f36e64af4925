"""Torch modules of users: copies, from which parameters are read, and live ones, which predict undisturbed.

A shadow shares no tensor and no submodule with the live module. Other attributes (locks, files, functions, plain
objects) are shared; every explanation compares their present effect.
"""

import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from operator import is_
from types import MethodType
from typing import Any, TypeVar, final

import torch
from gpytorch import settings
from gpytorch.variational._variational_strategy import _VariationalStrategy
from linear_operator.utils.warnings import NumericalWarning
from torch import Tensor
from torch.nn import Module, Parameter

M = TypeVar("M", bound=Module)

CACHES = {"_memoize_cache": dict, "prediction_strategy": type(None)}
"""Attributes in which GPyTorch caches results between predictions, and their types when they are empty."""
CONTAINERS = (dict, OrderedDict, list)
"""Containers whose contents are copied with a module, and restored after a prediction of the live module."""
COLLECTIONS = (*CONTAINERS, tuple)
LEAVES = frozenset((bool, type(None), str, int, float, Tensor, Parameter, torch.Size))
"""Types of values that cannot contain a module: most attributes of a module."""


def shadow(module: M) -> M:
    """A copy of the module and its submodules: tensors in float64 on the CPU, without gradients and caches.

    GPyTorch's jitter of a variational strategy depends on the dtype; the shadow keeps the jitter of the live module.
    """
    copies: dict[int, Any] = {}
    replica = _copied(module, copies)
    for part in reachable_modules(module):
        if isinstance(part, _VariationalStrategy) and "_jitter_val" in vars(part):
            copies[id(part)]._jitter_val = part.jitter_val
    return replica


def _copied(value: Any, copies: dict[int, Any]) -> Any:
    """Copy modules, tensors and plain containers of them once each; share anything else."""
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
    """The module and all modules in its attributes, including plain lists, tuples and dictionaries."""
    visited: dict[int, Any] = {}
    modules: list[Module] = []
    reached: list[Any] = [module]
    for value in reached:  # which grows
        kind: Any = type(value)
        if kind in LEAVES:
            continue
        collection = kind in COLLECTIONS
        if (collection and not value) or (key := id(value)) in visited:
            continue
        visited[key] = value
        if collection:
            reached += value.values() if kind in (dict, OrderedDict) else value
        elif isinstance(value, Module):
            modules.append(value)
            reached += value.__dict__.values()
    return modules


@final
class _EarlyExitError(BaseException):
    """Ends `forward` where a part of the model is called with x; `except Exception` does not catch it."""


def received_by(model: Any, name: str, X: Tensor) -> Tensor | None:
    """What `forward` of a model gives to its attribute `name` first, for the inputs X; None if it does not call it.

    This runs a copy of the model, whose attribute ends `forward` when it is called. The model is not changed.
    """

    def stop(part: Any, x: Tensor, *args: Any, **kwargs: Any) -> None:
        raise _EarlyExitError(x)

    part, kind, model_kind = getattr(model, name), type(getattr(model, name)), type(model)
    listening: Any = type(kind.__name__, (kind,), {"__call__": stop})
    substitute = object.__new__(listening)
    substitute.__dict__ = vars(part)
    listener: Any = object.__new__(model_kind)
    listener.__dict__ = {**vars(model), "_modules": {**model._modules, name: substitute}}
    try:
        listener.forward(X)
    except _EarlyExitError as received:
        return received.args[0]
    return None


@contextmanager
def undisturbed(module: Module) -> Iterator[list[Module]]:
    """The live module in evaluation mode and without caches; afterwards all its attributes are restored.

    Yields the module and all modules in its attributes.
    """
    parts = reachable_modules(module)
    attributes = [part.__dict__.copy() for part in parts]
    containers = [value for saved in attributes for value in saved.values() if type(value) in CONTAINERS]
    sizes, filled = [*map(len, containers)], [container for container in containers if container]
    contents = [*map(_entries, filled)]
    buffers = [(buffer, buffer.detach().clone()) for buffer in buffers_of(parts)]
    try:
        with torch.random.fork_rng(devices=[]):
            for part in parts:
                for name in CACHES:
                    if name in part.__dict__:
                        part.__dict__[name] = CACHES[name]()
            if type(module).eval is not Module.eval or True in [part.training for part in parts]:
                module.eval()
            yield parts
    finally:
        for part, saved in zip(parts, attributes, strict=True):
            _set_attributes(part.__dict__, saved)
        if [*map(len, containers)] != sizes or not all(map(_is_as_before, filled, contents)):
            _restore(containers, filled, contents)
        for buffer, saved in buffers:
            if not torch.equal(buffer, saved):
                buffer.data.copy_(saved)


def _set_attributes(attributes: dict[str, Any], saved: dict[str, Any]) -> None:
    attributes.update(saved)
    if len(attributes) != len(saved):
        for name in [name for name in attributes if name not in saved]:
            del attributes[name]


def buffers_of(parts: list[Module]) -> list[Tensor]:
    """The buffers of modules, without those of their parts."""
    return [buffer for part in parts for buffer in part._buffers.values() if buffer is not None]


def _entries(container: Any) -> list[Any]:
    """The entries of a list; the keys of a dictionary, and then its values."""
    return [*container] if type(container) is list else [*container, *container.values()]


def _is_as_before(container: Any, entries: list[Any]) -> bool:
    """Whether a container has the same entries in the same order, where it has as many."""
    return all(map(is_, _entries(container), entries))


def _restore(containers: list[Any], filled: list[Any], contents: list[list[Any]]) -> None:
    """Restore containers in which an entry was added, removed or replaced; those that were not filled were empty."""
    of = {id(container): entries for container, entries in zip(filled, contents, strict=True)}
    for container in containers:
        before = of.get(id(container), [])
        if [id(entry) for entry in _entries(container)] == [id(entry) for entry in before]:
            continue
        half = len(before) // 2
        container.clear()
        if type(container) is list:
            container.extend(before)
        else:
            container.update(zip(before[:half], before[half:], strict=True))


def reference(module: Module) -> Tensor:
    """An empty tensor with the precision and device in which a module computes: float64 if it has no parameters."""
    learned = (parameter for parameter in module.parameters() if parameter.is_floating_point())
    return next(learned, torch.empty(0, dtype=torch.float64)).new_empty(0)


@contextmanager
def exactly() -> Iterator[None]:
    """Predictions of GPyTorch by Cholesky whatever their size: conjugate gradients have an error of their own."""
    with (
        torch.no_grad(),
        without_warnings_of_jitter(),
        settings.max_cholesky_size(10**9),
        settings.fast_pred_var(False),
        settings.skip_posterior_variances(False),
        settings.debug(False),
    ):
        yield


def without_warnings_of_jitter() -> warnings.catch_warnings:
    """For predictions at points that may coincide, where GPyTorch factorises in passing what is not used."""
    return warnings.catch_warnings(action="ignore", category=NumericalWarning)
