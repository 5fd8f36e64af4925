"""A device that is not the CPU, on any machine: tensors that say they are on it, and refuse to meet tensors of the CPU.

Their numbers are kept and computed on the CPU, so that code for a GPU is run as it is. Kernels of a GPU are not.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("ipu", 0)
"""One of torch's devices without a library that would have to be loaded."""
aten = torch.ops.aten
GUARDED = {Tensor.__getitem__, Tensor.__setitem__, Tensor.contiguous}
"""Methods for which torch asks the library of a device before they become operations."""
TRANSFERS = {aten._to_copy.default, aten.copy_.default}
"""Operations that may take tensors of two devices; so may those that take an index."""


class Away(Tensor):
    """A tensor on `DEVICE`."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> "Away":
        tensor = torch.Tensor._make_wrapper_subclass(  # pyright: ignore[reportAttributeAccessIssue]
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=DEVICE,
        )
        tensor.inner = inner
        return tensor

    def __repr__(self, **options: Any) -> str:
        return f"Away({self.inner!r})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})


class Operations(TorchDispatchMode):
    """Operations that make tensors on `DEVICE` of a shape, or of a tensor on the CPU."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {})


class Functions(TorchFunctionMode):
    """Functions for which torch would look for the library of `DEVICE`: constants, and entries of tensors."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.new_tensor and isinstance(args[0], Away):
            return Away(args[0].inner.new_tensor(*args[1:], **kwargs))
        if func in GUARDED and isinstance(args[0], Away):
            result = func(*tree_map(lambda value: value.inner if isinstance(value, Away) else value, args))
            return None if result is None else Away(result)
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") == DEVICE:
            return Away(func(*args, **{**kwargs, "device": "cpu"}))
        return func(*args, **kwargs)


@contextmanager
def device() -> Iterator[None]:
    """Inside `with device():` tensors can be on `DEVICE`."""
    with Operations(), Functions():
        yield


def run(func: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """The operation on the CPU; its results are on the device that was asked for, or that of its arguments."""
    tensors = [value for value in tree_flatten((args, kwargs))[0] if isinstance(value, Tensor)]
    away = [value for value in tensors if isinstance(value, Away)]
    here = [value for value in tensors if not isinstance(value, Away) and value.ndim > 0]
    if away and here and func not in TRANSFERS and "index" not in str(func):
        raise RuntimeError(f"expected all tensors on {DEVICE} in {func}, got {len(here)} on the CPU")
    wanted = kwargs.get("device")
    on_device = bool(away) if wanted is None else torch.device(wanted).type == DEVICE.type
    if func is aten.copy_.default:
        on_device = isinstance(args[0], Away)
    inner = tree_map(lambda value: value.inner if isinstance(value, Away) else value, (args, kwargs))
    if wanted is not None:
        inner[1]["device"] = torch.device("cpu")
    result = func(*inner[0], **inner[1])
    same = {id(value.inner): value for value in away}  # what is changed in place stays the same object

    def placed(value: Any) -> Any:
        if not isinstance(value, Tensor) or not on_device:
            return value
        return same[id(value)] if id(value) in same else Away(value)

    return tree_map(placed, result)


def moved(module: Any) -> Any:
    """The module with all its parameters, buffers and training data on `DEVICE`."""
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None:
                part._parameters[name] = torch.nn.Parameter(Away(parameter.detach()), requires_grad=False)
        for name, buffer in part._buffers.items():
            part._buffers[name] = None if buffer is None else Away(buffer)
        for name, value in vars(part).items():
            if isinstance(value, Tensor):
                setattr(part, name, Away(value))
            elif name == "train_inputs" and value is not None:
                part.train_inputs = tuple(Away(x) for x in value)
    return module
