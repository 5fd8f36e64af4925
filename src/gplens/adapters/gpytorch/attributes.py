"""Attributes of torch modules that are no tensors, on which predictions depend too, compared between two calls."""

from types import FunctionType, MethodType
from typing import Any

import torch
from gpytorch import settings
from gpytorch.kernels import Kernel
from gpytorch.means import Mean
from gpytorch.models import GP
from torch.nn import Module

LIBRARIES = ("gpytorch.", "botorch.", "torch.", "gplens.")
"""Packages whose modules compute a function of their tensors, of numbers in attributes and of settings."""
FUNCTIONS = (FunctionType, MethodType)
COMPARED = (bool, int, float, str, *FUNCTIONS)
"""Types of attributes that are compared between two calls."""
MODE = ("training", "_has_transformed_inputs")
"""Attributes that a change between training and evaluation changes."""
Attributes = list[tuple[type, dict[str, Any]]]


def numbers_of(parts: list[Module], dtype: torch.dtype) -> list[Any]:
    """Numbers, texts and functions in the attributes of modules, which modules they are, and GPyTorch's settings."""
    jitters = [jitter.value(dtype) for jitter in (settings.cholesky_jitter, settings.variational_cholesky_jitter)]
    return [settings.prior_mode.on(), *jitters] + [
        (id(part), {name: value for name, value in part.__dict__.items() if type(value) in COMPARED}) for part in parts
    ]


def attributes_of_libraries(module: Module, parts: list[Module]) -> Attributes:
    """The class of each part, and what it does beside its tensors: numbers and texts of the libraries' modules, which
    keep nothing else there than what they compute with, and methods of single objects of any class.

    Modules of users may count calls or keep a loss in a number.
    """
    attributes: Attributes = []
    for part in parts:
        types = COMPARED if _is_of_libraries(part) and part is not module else FUNCTIONS
        kind, own = type(part), part.__dict__.items()
        compared = {name: value for name, value in own if type(value) in types and name not in MODE}
        attributes.append((kind, {n: v for n, v in compared.items() if type(v) not in FUNCTIONS or hasattr(kind, n)}))
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
                raise ValueError(
                    f"expected the {name} that was read, got one whose {kind.__name__}.{key} has changed since."
                )


def beside_prior(parts: list[Module]) -> list[Module]:
    """The modules that q(u) and noise may come from: all but the model, its kernels and its means."""
    return [part for part in parts if not isinstance(part, (GP, Kernel, Mean))]


def are_of_libraries(parts: list[Module]) -> bool:
    """Whether no part is of a class of the user's, or has a method of its own."""
    return not [part for part in parts if _patched(part) or not _is_of_libraries(part)]


def _is_of_libraries(part: Module) -> bool:
    return type(part).__module__.startswith(LIBRARIES)


def _patched(part: Module) -> bool:
    kind = type(part)
    return bool([name for name, value in part.__dict__.items() if type(value) in FUNCTIONS and hasattr(kind, name)])
