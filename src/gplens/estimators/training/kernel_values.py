"""The kernels of the estimators as differentiable functions of their parameters, with few passes over the matrix."""

from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor


def squared_distances(X: Float[Tensor, "k n d"], Z: Float[Tensor, "k m d"]) -> Float[Tensor, "k n m"]:
    """|x - z|^2 by one matrix product, which may round it to a little less than zero."""
    norms = X.square().sum(-1)[..., :, None] + Z.square().sum(-1)[..., None, :]
    return torch.baddbmm(norms, X, Z.mT, alpha=-2.0)


def value_and_slope(r2: Float[Tensor, "*m n"], name: str) -> tuple[Float[Tensor, "*m n"], Float[Tensor, "*m n"]]:
    """h(r^2) of a kernel without further parameters, with its slope, which share an exponential."""
    r2 = r2.clamp_min(0.0)
    if name == "rbf":
        h = (-r2 / 2).exp_()
        return h, -h / 2
    if name == "matern32":
        s = r2.mul_(3).sqrt_()
        decay = (-s).exp_()
        return s.add_(1).mul_(decay), decay.mul_(-1.5)
    s = r2.mul_(5).sqrt_()
    decay = (-s).exp_()
    slope = (1 + s).mul_(decay).mul_(-5 / 6)
    return s.square_().mul_(decay).div_(3).sub_(slope, alpha=6 / 5), slope


@final
class _Profile(torch.autograd.Function):
    """h(r^2) of a kernel, whose slope is kept for its derivative."""

    @staticmethod
    def forward(ctx: Any, r2: Tensor, name: str) -> Tensor:
        h, slope = value_and_slope(r2, name)
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
