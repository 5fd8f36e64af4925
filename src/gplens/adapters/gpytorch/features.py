"""Features that a model computes from its inputs before its kernel or mean: deep kernel learning (MATH 1.11)."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.modules import received_by

Features = Callable[[Float[Tensor, "k d"]], Float[Tensor, "k e"]]


def features_for(model: Any, name: str, index: int, points: Float[Tensor, "k d"]) -> Features:
    """phi, where `forward` calls the attribute `name` (its kernel or mean) with phi(x) for the inputs x.

    It is computed by running `forward` up to that call, for latent function `index`.

    Raises:
        ValueError: if the features are detached from the inputs, so that they have no derivative.
    """
    check_attached(model, name, points)

    def phi(X: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        received = received_by(model, name, X)
        assert received is not None
        return received if received.ndim == 2 else received[index if len(received) > 1 else 0]

    return phi


def check_attached(model: Any, name: str, points: Float[Tensor, "k d"]) -> None:
    """Refuse a `forward` that detaches what it gives to the attribute `name` from the inputs."""
    with torch.enable_grad():
        received = received_by(model, name, points.clone().requires_grad_())
    if received is not None and not received.requires_grad:
        raise ValueError(
            f"expected {name} to be called with features that autograd can differentiate, got some that "
            f"{type(model).__name__}.forward computes without gradients; remove torch.no_grad() and detach() there."
        )
