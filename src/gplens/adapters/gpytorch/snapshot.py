"""The live torch module: restored after every prediction, and refused if it has changed since it was read."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from operator import is_
from typing import Any, final

import torch
from torch import Tensor
from torch.nn import Module

from gplens.adapters.gpytorch.attributes import (
    are_of_libraries,
    attributes_of_libraries,
    beside_prior,
    check_attributes,
    numbers_of,
)
from gplens.adapters.gpytorch.live_prior import LivePrior
from gplens.adapters.gpytorch.shadow import CACHES, CONTAINERS, reachable_modules
from gplens.adapters.reading import check_unchanged
from gplens.processes.process import Process


@contextmanager
def undisturbed(module: Module) -> Iterator[list[Module]]:
    """The live module in evaluation mode and without caches; afterwards all its attributes are restored.

    Yields the module and all modules in its attributes.
    """
    parts = reachable_modules(module)
    attributes = [part.__dict__.copy() for part in parts]
    containers = [value for saved in attributes for value in saved.values() if type(value) in CONTAINERS]
    contents = _entries(containers)
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
        _restore(containers, contents)
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


def _entries(containers: list[Any]) -> list[list[Any]]:
    """The entries of each list; the keys of each dictionary, and then its values. Most are empty tables of hooks."""
    return [[] if not c else [*c] if type(c) is list else [*c, *c.values()] for c in containers]


def _restore(containers: list[Any], contents: list[list[Any]]) -> None:
    """Restore containers in which an entry was added, removed or replaced."""
    now = _entries(containers)
    before, after = ([entry for part in parts for entry in (*part, containers)] for parts in (contents, now))
    if len(before) == len(after) and all(map(is_, before, after)):
        return
    for container, entries, entries_now in zip(containers, contents, now, strict=True):
        if [id(entry) for entry in entries] == [id(entry) for entry in entries_now]:
            continue
        half = len(entries) // 2
        container.clear()
        if type(container) is list:
            container.extend(entries)
        else:
            container.update(zip(entries[:half], entries[half:], strict=True))


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

    def __init__(self, module: Any, process: Process) -> None:
        self.keeps = not process.autograd
        with undisturbed(module) as parts:  # models of BoTorch transform their training data in evaluation mode
            self.tensors = {name: tensor.detach().clone() for name, tensor in _named_tensors(module).items()}
            self.in_order = [tensor.detach().clone() for tensor in _tensors(module, parts)]
            self.attributes = attributes_of_libraries(module, parts)
            self.reference = reference(module)
        self.prior = LivePrior.of(process)
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
            check_attributes(type(module).__name__, self.attributes, attributes_of_libraries(module, parts))
            numbers = numbers_of(parts, self.reference.dtype)
            compared = self.keeps and same and numbers == self.numbers and are_of_libraries(beside_prior(parts))
            if compared:
                for part, caches in zip(parts, self.caches, strict=True):
                    for name, cache in caches.items():
                        part.__dict__[name] = cache.copy() if type(cache) is dict else copy(cache)
            yield self.reference if same else reference(module), compared
            self.numbers = numbers
            self.caches = [{name: part.__dict__[name] for name in CACHES if name in part.__dict__} for part in parts]

    def _same(self, now: list[Tensor]) -> bool:
        """Whether all tensors equal those at the time of reading, in the same order and precision."""
        if [tensor.dtype for tensor in now] != [tensor.dtype for tensor in self.in_order]:
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
    for part in beside_prior(parts):
        tensors += [value for value in part.__dict__.values() if isinstance(value, Tensor) and _is_dense(value)]
    return tensors + _buffers(parts)


def _is_dense(tensor: Tensor) -> bool:
    """Whether torch compares tensors of this kind. Noise is dense; tensors of other kinds are a user's own."""
    return tensor.layout == torch.strided and not (tensor.is_meta or tensor.is_nested)
