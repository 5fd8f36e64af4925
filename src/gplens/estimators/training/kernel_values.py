"""The kernels of the estimators as differentiable functions of their parameters, with few passes over the matrix."""

from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor


def squared_distances(X: Float[Tensor, "k n d"], Z: Float[Tensor, "k m d"]) -> Float[Tensor, "k n m"]:
    """|x - z|^2 by one matrix product, which may round it to a little less than zero."""
    norms = X.square().sum(-1)[..., :, None] + Z.square().sum(-1)[..., None, :]
    return torch.baddbmm(norms, X, Z.mT, alpha=-2.0)


@final
class _Profile(torch.autograd.Function):
    """h(r^2) of a kernel with its slope, which share an exponential."""

    @staticmethod
    def forward(ctx: Any, r2: Tensor, name: str) -> Tensor:
        r2 = r2.clamp_min(0.0)
        if name == "rbf":
            h = (-r2 / 2).exp_()
            slope = -h / 2
        elif name == "matern32":
            s = (3 * r2).sqrt_()
            decay = (-s).exp()
            h, slope = (1 + s) * decay, -1.5 * decay
        else:
            s = (5 * r2).sqrt_()
            decay = (-s).exp()
            slope = (1 + s).mul_(decay).mul_(-5 / 6)
            h = s.square().div_(3).mul_(decay).sub_(slope, alpha=6 / 5)
        ctx.save_for_backward(slope)
        return h

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (slope,) = ctx.saved_tensors
        return grads[0] * slope, None


def profile(name: str, r2: Float[Tensor, "k n m"], alpha: Float[Tensor, " k"] | None = None) -> Float[Tensor, "k n m"]:
    """h(r^2), one where r is zero; `alpha` is that of the rational quadratic kernel.

    | kernel | h(r^2) |
    |---|---|
    | rbf | exp(-r^2/2) |
    | matern32 | (1 + s) exp(-s), s = sqrt(3) r |
    | matern52 | (1 + s + s^2/3) exp(-s), s = sqrt(5) r |
    | rational_quadratic | (1 + r^2/(2 alpha))^(-alpha) |
    """
    if name == "rational_quadratic":
        assert alpha is not None
        return (-alpha[:, None, None] * torch.log1p(r2.clamp_min(0.0) / (2 * alpha[:, None, None]))).exp()
    values: Any = _Profile.apply(r2, name)
    return values
