"""Features that a model computes from its inputs before its kernel or mean: deep kernel learning (MATH 1.11)."""

from collections.abc import Callable
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

Features = Callable[[Float[Tensor, "k d"]], Float[Tensor, "k e"]]


@final
class _EarlyExitError(BaseException):
    """Ends `forward` where a part of the model is called; `except Exception` does not catch it."""

    def __init__(self, x: Tensor) -> None:
        super().__init__()
        self.x = x


def features_for(model: Any, name: str, index: int, points: Float[Tensor, "k d"]) -> Features | None:
    """phi, if `forward` calls the attribute `name` (its kernel or mean) with phi(x) for the inputs x.

    It is computed by running `forward` up to that call, for latent function `index`. None if `forward` does not call
    the attribute, or not with a table that has one row for each input.

    Raises:
        ValueError: if the features are detached from the inputs, so that they have no derivative.
    """
    listener = _listening(model, name)

    def phi(X: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        received = _received(listener, X)
        assert received is not None
        return received if received.ndim == 2 else received[index if len(received) > 1 else 0]

    first = _received(listener, points)
    if first is None or first.ndim not in (2, 3) or first.shape[-2] != len(points):
        return None
    with torch.enable_grad():
        if not phi(points.clone().requires_grad_()).requires_grad:
            raise ValueError(
                f"expected {name} to be called with features that autograd can differentiate, got some that "
                f"{type(model).__name__}.forward computes without gradients; remove torch.no_grad() and detach() there."
            )
    return phi


def _received(listener: Any, X: Float[Tensor, "k d"]) -> Tensor | None:
    try:
        listener.forward(X)
    except _EarlyExitError as received:
        return received.x
    return None


def _listening(model: Any, name: str) -> Any:
    """A copy of the model whose attribute `name` ends `forward` when it is called. The model is not changed."""

    def stop(part: Any, x: Tensor, *args: Any, **kwargs: Any) -> None:
        raise _EarlyExitError(x)

    part, kind, model_kind = getattr(model, name), type(getattr(model, name)), type(model)
    listening: Any = type(kind.__name__, (kind,), {"__call__": stop})
    substitute = object.__new__(listening)
    substitute.__dict__ = vars(part)
    listener: Any = object.__new__(model_kind)
    listener.__dict__ = {**vars(model), "_modules": {**model._modules, name: substitute}}
    return listener
