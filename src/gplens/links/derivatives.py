"""g, g', g'' of an elementwise torch function, by automatic differentiation."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.shapes import Batch


def differentiate(g: Callable[[Tensor], Tensor], f: Batch) -> Float[Tensor, "3 *batch"]:
    """g(f), g'(f), g''(f), stacked and detached. No `.grad` is left on f or on what g closes over.

    Works whatever the grad or inference mode of the caller.
    """
    with torch.inference_mode(False), torch.enable_grad():
        f = f.detach().clone().requires_grad_()
        y = g(f)
        _check_elementwise(f, y)
        slope = _derivative(y, f)
        curvature = _derivative(slope, f)
        return torch.stack([y, slope, curvature]).detach()


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
