"""Copies of a torch module: a shadow, from which parameters are read, and one that tells what a part of it is given.

A shadow shares no tensor and no submodule with the live module, so that reading does not change the user's model.
Other attributes (locks, files, functions, plain objects) are shared; every explanation compares their present effect.
"""

from collections import OrderedDict
from types import MethodType
from typing import Any, TypeVar, final

import torch
from gpytorch.variational._variational_strategy import _VariationalStrategy
from torch import Tensor
from torch.nn import Module, Parameter

M = TypeVar("M", bound=Module)

CACHES = {"_memoize_cache": dict, "prediction_strategy": type(None)}
"""Attributes in which GPyTorch caches results between predictions, and their types when they are empty."""
CONTAINERS = (dict, OrderedDict, list)
"""Containers whose contents are copied with a module, and restored after a prediction of the live module."""
COLLECTIONS = (*CONTAINERS, tuple)
LEAVES = (bool, type(None), str, int, float, Tensor, Parameter, torch.Size)
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
    if isinstance(value, Tensor) and not value.is_meta:
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
    found: list[Any] = [module]
    for value in found:  # which grows
        kind: Any = type(value)
        if kind in LEAVES or (kind in COLLECTIONS and not value) or (key := id(value)) in visited:
            continue
        visited[key] = value
        if kind in COLLECTIONS:
            found += value.values() if kind in (dict, OrderedDict) else value
        elif isinstance(value, Module):
            modules.append(value)
            found += value.__dict__.values()
    return modules


@final
class _EarlyExitError(BaseException):
    """Ends `forward` where a part of the model is called; `except Exception` does not catch it."""

    def __init__(self, x: Tensor) -> None:
        super().__init__()
        self.x = x


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
        return received.x
    return None
