"""Whether the functions of a kernel that gplens has no formula for have a derivative, as far as its values tell."""

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels import Kernel


def check_smooth(kernel: Kernel, points: Float[Tensor, "k d"]) -> None:
    """Refuse a kernel whose functions have no derivative: E (f(x+h) - f(x))^2 must fall like h^2, not like h.

    The steps are 1e-3 and 1e-5 of the spread of the points, at which even a small rough part shows; 2.8 is the ratio
    of h^1.5.
    """
    x = points[:1]
    spread = (points.amax(0) - points.amin(0)).norm() / len(x[0]) ** 0.5 * torch.ones_like(x)
    for h in (1e-3 * spread, 1e-5 * spread):
        far, near = (kernel.diagonal(x) + kernel.diagonal(x + d) - 2 * kernel(x, x + d)[0] for d in (2 * h, h))
        if not bool(near > 1e-10 * kernel.diagonal(x)) or bool(far >= 2.8 * near):
            continue
        raise ValueError(
            "expected a kernel whose functions have a derivative, where halving h quarters the variance of "
            f"f(x + h) - f(x), got {float(far):.3g} and {float(near):.3g}; fit the model with a smoother kernel, since "
            "Integrated Gradients does not exist for this one."
        )
