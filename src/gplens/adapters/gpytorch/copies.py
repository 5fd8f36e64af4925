"""Copies of host modules, so that the user's own are never touched."""

from copy import deepcopy
from typing import Any, TypeVar

import torch
from gpytorch.variational._variational_strategy import _VariationalStrategy
from torch import Tensor
from torch.nn import Module

M = TypeVar("M", bound=Module)

CACHES = ("_memoize_cache", "prediction_strategy")
"""What GPyTorch keeps between predictions: derived from the parameters, and part of an autograd graph."""


def frozen_copy(module: M, dtype: torch.dtype | None = None) -> M:
    """A copy in evaluation mode, without caches and gradients, in `dtype` if one is given."""
    copy = deepcopy(module, memo=_replacements(module))
    copy = copy if dtype is None else copy.to(dtype)
    return copy.eval().requires_grad_(False)


def keep_jitter(module: Module, copy: Module) -> None:
    """GPyTorch's jitter depends on the dtype; a copy in float64 keeps that of the model it was made from."""
    for name, original in module.named_modules():
        if isinstance(original, _VariationalStrategy) and "_jitter_val" in vars(original):
            vars(copy.get_submodule(name))["_jitter_val"] = original.jitter_val


def _replacements(module: Module) -> dict[int, Any]:
    """What deepcopy is to put in place of caches and of tensors with a history, which it refuses to copy."""
    memo: dict[int, Any] = {}
    for part in module.modules():
        for name, value in vars(part).items():
            if name in CACHES and value is not None:
                memo[id(value)] = {} if isinstance(value, dict) else None
            for tensor in value if isinstance(value, tuple | list) else (value,):
                if isinstance(tensor, Tensor) and not tensor.is_leaf:
                    memo[id(tensor)] = tensor.detach().clone()
    return memo
