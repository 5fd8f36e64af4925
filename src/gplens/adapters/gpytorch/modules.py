"""Torch modules of users: copies, from which parameters are read, and live ones, which predict undisturbed.

A shadow shares no tensor and no submodule with the live module. Other attributes (locks, files, functions, plain
objects) are shared; every explanation compares their present effect.
"""

import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from operator import is_
from types import FunctionType, MethodType
from typing import Any, TypeVar

import torch
from gpytorch import settings
from gpytorch.kernels import Kernel
from gpytorch.means import Mean
from gpytorch.models import GP
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
LIBRARIES = ("gpytorch.", "botorch.", "torch.", "gplens.")
"""Packages whose modules compute a function of their tensors, of numbers in attributes and of settings."""
FUNCTIONS = (FunctionType, MethodType)
COMPARED = frozenset((bool, int, float, str, *FUNCTIONS))
"""Types of attributes that are compared between two calls."""
MODE = ("training", "_has_transformed_inputs")
"""Attributes that a change between training and evaluation changes."""
Attributes = list[tuple[type, dict[str, Any]]]
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
        if value.is_meta:  # it has no values to copy
            return value
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


def numbers_of(parts: list[Module], dtype: torch.dtype) -> list[Any]:
    """Numbers, texts and functions in the attributes of modules, which modules they are, and GPyTorch's settings."""
    jitters = [jitter.value(dtype) for jitter in (settings.cholesky_jitter, settings.variational_cholesky_jitter)]
    return [settings.prior_mode.on(), *jitters] + [
        (part, {name: value for name, value in part.__dict__.items() if type(value) in COMPARED}) for part in parts
    ]


def attributes_of_libraries(module: Module, parts: list[Module]) -> Attributes:
    """The class of each part, numbers and texts of modules of libraries, and methods that single objects were given.

    Modules of users may count calls or keep a loss in a number.
    """
    attributes: Attributes = []
    for part in parts:
        kind = part.__class__
        types = COMPARED if part is not module and kind.__module__.startswith(LIBRARIES) else FUNCTIONS
        held = {
            name: value
            for name, value in part.__dict__.items()
            if type(value) in types and name not in MODE and (type(value) not in FUNCTIONS or hasattr(kind, name))
        }
        attributes += ((kind, held),)
    return attributes


def check_attributes(name: str, before: Attributes, now: Attributes) -> None:
    """Refuse a live module whose parts are of other classes, or compute with other numbers, than when it was read."""
    if before == now:
        return
    if [kind for kind, _ in before] != [kind for kind, _ in now]:
        raise ValueError(f"expected the {name} that was read, got one with other parts.")
    for (kind, old), (_, new) in zip(before, now, strict=True):
        for key in dict.fromkeys((*old, *new)):
            if old.get(key) is not new.get(key) and old.get(key) != new.get(key):
                key = f"{kind.__name__}.{key}"
                raise ValueError(f"expected the {name} that was read, got one whose {key} has changed since.")


def beside_prior(parts: list[Module]) -> list[Module]:
    """The modules that q(u) and noise may come from: all but the model, its kernels and its means."""
    return [part for part in parts if not isinstance(part, (GP, Kernel, Mean))]


def are_of_libraries(parts: list[Module]) -> bool:
    """Whether no part is of a class of the user's, or has a method of its own."""
    return not [part for part in parts if _patched(part) or not type(part).__module__.startswith(LIBRARIES)]


def _patched(part: Module) -> bool:
    kind = type(part)
    return bool([name for name, value in part.__dict__.items() if type(value) in FUNCTIONS and hasattr(kind, name)])
