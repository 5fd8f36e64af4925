"""The live torch module: restored after every prediction, and refused if it has changed since it was read."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from operator import is_
from types import FunctionType, MethodType
from typing import Any, final

import torch
from gpytorch import settings
from gpytorch.kernels import Kernel
from gpytorch.means import Mean
from gpytorch.models import GP
from torch import Tensor
from torch.nn import Module

from gplens.adapters.gpytorch.live_prior import LivePrior
from gplens.adapters.gpytorch.shadow import CACHES, CONTAINERS, reachable_modules
from gplens.adapters.reading import check_unchanged
from gplens.processes.process import Process

LIBRARIES = ("gpytorch.", "botorch.", "torch.", "gplens.")
"""Packages whose modules compute a function of their tensors, of numbers in attributes and of settings."""

FUNCTIONS = (FunctionType, MethodType)
COMPARED = frozenset((bool, int, float, str, *FUNCTIONS))
"""Types of attributes that are compared between two calls."""


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
    buffers = [(buffer, buffer.detach().clone()) for buffer in _buffers(parts)]
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


def _buffers(parts: list[Module]) -> list[Tensor]:
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


@final
class Snapshot:
    """The learned tensors of a fitted module when it was read, and factorisations that the host has computed since.

    GPyTorch caches its factorisations between predictions. Those of a comparison are kept here, not in the user's
    model, and are used for the next comparison as long as all tensors, and all numbers in attributes, are the same. The
    rest of a prediction is computed anew: the prior at the points and at support points beside them, which reveals any
    other change of the prior. This holds for kernels that were read as formulas. A kernel that calls the model's own
    code may change with it, which only a new factorisation reveals; nothing is kept for such a kernel, and nothing if
    q(u) or the noise comes from the user's code.
    """

    def __init__(self, module: Any, process: Process, prior: LivePrior | None = None) -> None:
        self.keeps = not process.autograd
        with undisturbed(module) as parts:  # models of BoTorch transform their training data in evaluation mode
            self.tensors = {name: tensor.detach().clone() for name, tensor in _named_tensors(module).items()}
            self.in_order = [tensor.detach().clone() for tensor in _tensors(module, parts)]
            self.dtypes, self.reference = [tensor.dtype for tensor in self.in_order], reference(module)
        self.prior = prior or LivePrior.of(process)
        self.numbers: list[Any] = []
        self.caches: list[dict[str, Any]] = []

    @contextmanager
    def predicting(self, module: Any) -> Iterator[tuple[Tensor, bool]]:
        """The live module in evaluation mode, refused if its tensors have changed; afterwards it is restored.

        Yields its `reference`, and whether its tensors and numbers are those of the last comparison of predictions.
        """
        with undisturbed(module) as parts:
            same = self._same(_tensors(module, parts))
            if not same:
                check_unchanged(type(module).__name__, self.tensors, _named_tensors(module))
            numbers = _numbers(parts, self.reference.dtype)
            compared = self.keeps and same and numbers == self.numbers and _are_of_libraries(_beside_prior(parts))
            if compared:
                for part, caches in zip(parts, self.caches, strict=True):
                    for name, cache in caches.items():
                        part.__dict__[name] = cache.copy() if type(cache) is dict else copy(cache)
            yield self.reference if same else reference(module), compared
            self.numbers = numbers
            self.caches = [{name: part.__dict__[name] for name in CACHES if name in part.__dict__} for part in parts]

    def _same(self, now: list[Tensor]) -> bool:
        """Whether all tensors equal those at the time of reading, in the same order and precision."""
        if [tensor.dtype for tensor in now] != self.dtypes:
            return False
        return all(map(torch.equal, self.in_order, now))


def _named_tensors(module: Any) -> dict[str, Tensor]:
    """The learned tensors of a fitted module: parameters, buffers and training data."""
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    for name in ("train_inputs", "train_targets"):
        data = getattr(module, name, None)
        tensors |= {f"{name}[{i}]": part for i, part in enumerate((data,) if isinstance(data, Tensor) else data or ())}
    return tensors


def _tensors(module: Any, parts: list[Module]) -> list[Tensor]:
    """The learned tensors without names, including those of modules in plain lists, and fixed noise."""
    data = [getattr(module, name, None) for name in ("train_inputs", "train_targets")]
    tensors = [part for given in data for part in ((given,) if isinstance(given, Tensor) else given or ())]
    for part in parts:
        tensors += [parameter for parameter in part._parameters.values() if parameter is not None]
    for part in _beside_prior(parts):
        tensors += [value for value in part.__dict__.values() if isinstance(value, Tensor)]
    return tensors + _buffers(parts)


def _numbers(parts: list[Module], dtype: torch.dtype) -> list[Any]:
    """Numbers, texts and functions in the attributes of modules, which modules they are, and GPyTorch's settings."""
    jitters = [jitter.value(dtype) for jitter in (settings.cholesky_jitter, settings.variational_cholesky_jitter)]
    return [settings.prior_mode.on(), *jitters] + [
        (id(part), {name: value for name, value in part.__dict__.items() if type(value) in COMPARED}) for part in parts
    ]


def _beside_prior(parts: list[Module]) -> list[Module]:
    """The modules that q(u) and noise may come from: all but the model, its kernels and its means."""
    return [part for part in parts if not isinstance(part, (GP, Kernel, Mean))]


def _are_of_libraries(parts: list[Module]) -> bool:
    """Whether no part is of a class of the user's, or has a method of its own."""
    return not [part for part in parts if _patched(part) or not type(part).__module__.startswith(LIBRARIES)]


def _patched(part: Module) -> bool:
    kind = type(part)
    return bool([name for name, value in part.__dict__.items() if type(value) in FUNCTIONS and hasattr(kind, name)])
