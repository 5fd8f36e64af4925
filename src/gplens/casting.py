"""Kernels and means in another precision."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor


def cast(thing: Any, dtype: torch.dtype) -> Any:
    """The same kernel or mean with parameters of another dtype."""
    if isinstance(thing, Tensor):
        return thing.to(dtype) if thing.is_floating_point() else thing
    if isinstance(thing, tuple):
        return tuple(cast(part, dtype) for part in thing)
    if is_dataclass(thing) and not isinstance(thing, type):
        return replace(thing, **{field.name: cast(getattr(thing, field.name), dtype) for field in fields(thing)})
    return thing
