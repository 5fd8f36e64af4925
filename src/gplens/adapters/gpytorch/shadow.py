"""A shadow of a torch module to read from.

A shadow shares no tensor and no submodule with the live module, so that reading changes nothing of the user's. Other
attributes (locks, files, functions, plain objects) are shared: what they do now is compared in every explanation.
"""

from collections import OrderedDict
from types import MethodType
from typing import Any, TypeVar

import torch
from gpytorch.variational._variational_strategy import _VariationalStrategy
from torch import Tensor
from torch.nn import Module, Parameter

M = TypeVar("M", bound=Module)

CACHES = {"_memoize_cache": dict, "prediction_strategy": type(None)}
"""Attributes in which GPyTorch keeps results between predictions, and the type of an empty one."""
CONTAINERS = (dict, OrderedDict, list)
"""Types whose contents are copied with a module, and restored after a prediction of the live one."""
COLLECTIONS = (*CONTAINERS, tuple)
LEAVES = (bool, type(None), str, int, float, Tensor, Parameter, torch.Size)
"""Types of values in which there is no module: most of a module's attributes."""


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
