"""Derivatives of an elementwise torch function, by automatic differentiation."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.shapes import Batch


def differentiate(g: Callable[[Tensor], Tensor], f: Batch, *, order: int = 2) -> Float[Tensor, "k *batch"]:
    """g(f), g'(f), ... to the order-th derivative, stacked and detached.

    No `.grad` is left on f or on what g closes over. Works whatever the grad or inference mode of the caller.
    """
    with torch.inference_mode(False), torch.enable_grad():
        f = f.detach().clone().requires_grad_()
        y = g(f)
        _check_elementwise(f, y)
        values = [y]
        for _ in range(order):
            values.append(_derivative(values[-1], f))
        return torch.stack(values).detach()


def _derivative(y: Tensor, f: Tensor) -> Tensor:
    """dy/df; zero where y does not depend on f (g constant, or linear one derivative earlier)."""
    if not y.requires_grad:
        return torch.zeros_like(f)
    (slope,) = torch.autograd.grad(y.sum(), f, create_graph=True, allow_unused=True)
    return torch.zeros_like(f) if slope is None else slope


def _check_elementwise(f: Tensor, y: Tensor) -> None:
    if y.shape != f.shape or y.dtype != f.dtype:
        raise ValueError(
            f"g returned {y.dtype} of shape {tuple(y.shape)} for {f.dtype} of shape {tuple(f.shape)}; "
            "it must act elementwise and keep the dtype. Write it with torch functions of f alone, "
            "without reductions or casts."
        )
