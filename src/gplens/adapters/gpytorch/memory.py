"""What was read from a module, kept for as long as the module stays as it was."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, final
from weakref import WeakKeyDictionary

import gpytorch
import torch
from torch import Tensor
from torch.nn import Module

from gplens.adapters.gpytorch.copies import CACHES

T = TypeVar("T")
IGNORED = frozenset({*CACHES, "training", "_is_full_backward_hook"})
"""Attributes of modules that no prediction depends on, or that predictions change."""
PLAIN = (type(None), bool, int, float, str, bytes, torch.dtype, torch.device, torch.Size)
"""Values that are compared; other objects are told apart by identity."""


@final
@dataclass(frozen=True, eq=False)
class _State:
    """All that a module's predictions can depend on: its tensors, attributes, and the host's numerical settings."""

    tensors: tuple[Tensor, ...]
    rest: tuple[Any, ...]

    @staticmethod
    def of(module: Module) -> "_State":
        leaves = [leaf for part in module.modules() for leaf in (type(part), *_leaves(_attributes(part)))]
        tensors = tuple(leaf for leaf in leaves if isinstance(leaf, Tensor))
        rest = tuple(leaf if isinstance(leaf, PLAIN) else id(leaf) for leaf in leaves if not isinstance(leaf, Tensor))
        return _State(tensors, (*rest, *_settings()))

    def kept(self) -> "_State":
        """With copies of the tensors, which the user may change in place."""
        return _State(tuple(tensor.detach().clone() for tensor in self.tensors), self.rest)

    def same(self, other: "_State") -> bool:
        """Exactly, bit for bit."""
        return self.rest == other.rest and all(
            ours.dtype == theirs.dtype and torch.equal(ours, theirs)
            for ours, theirs in zip(self.tensors, other.tensors, strict=True)
        )


_KEPT: WeakKeyDictionary[Module, tuple[_State, Any]] = WeakKeyDictionary()


def remembered(module: Module, read: Callable[[], T]) -> T:
    """read(), or what it gave the last time if nothing about the module has changed since."""
    state, kept = _State.of(module), _KEPT.get(module)
    if kept is not None and len(kept[0].tensors) == len(state.tensors) and state.same(kept[0]):
        return kept[1]
    result = read()
    _KEPT[module] = state.kept(), result
    return result


def _attributes(part: Module) -> dict[str, Any]:
    return {name: value for name, value in vars(part).items() if name not in IGNORED and name != "_modules"}


def _leaves(value: Any) -> Iterator[Any]:
    """Names and values inside containers, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _leaves(inner)
    elif isinstance(value, tuple | list | set) and not isinstance(value, torch.Size):
        yield len(value)
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _settings() -> tuple[Any, ...]:
    """The host's global numbers that change what a model predicts."""
    kinds = (gpytorch.settings.cholesky_jitter, gpytorch.settings.variational_cholesky_jitter)
    jitters = [kind.value(dtype) for kind in kinds for dtype in (torch.float32, torch.float64)]
    return (*jitters, gpytorch.settings.cholesky_max_tries.value())
