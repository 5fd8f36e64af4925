"""Whether the functions of a kernel have a derivative: by its type, or by its values."""

import gpytorch.kernels as host
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels import Kernel

STEPS = 4
"""The number of steps h for each factor of two."""
WINDOW = 3 * STEPS
"""The number of steps over which the variance of f(x + h) - f(x) has to follow a power of h."""
STRAIGHT = 0.1
"""The largest deviation of log2 of the variance from a line. Rounding, or a bend within the window, deviates more."""
RESOLVED = 1e-10
"""The smallest variance of f(x + h) - f(x) relative to that of f(x): it is a difference of numbers of that size."""
DIGITS = 64 * torch.finfo(torch.float64).eps
"""The smallest step relative to x, so that x + h is accurate to a few percent."""
BLOCK = 16
"""The most rows of a call: torch.cdist uses differences for up to 25 rows, and loses half of the digits for more."""
ROUGH = 1.5
"""The smallest accepted power of h. For differentiable functions the variance falls like h^2."""


def check_differentiable(kernel: torch.nn.Module) -> None:
    """Refuse GPyTorch's kernels whose functions have no derivative."""
    if isinstance(kernel, host.MaternKernel) and kernel.nu < 1:
        rough, smooth = f"MaternKernel(nu={kernel.nu})", "nu=1.5 or nu=2.5"
    elif isinstance(kernel, host.PiecewisePolynomialKernel) and kernel.q == 0:
        rough, smooth = "PiecewisePolynomialKernel(q=0)", "q=1, 2 or 3"
    else:
        return
    raise ValueError(
        f"expected a kernel whose functions have a derivative, got {rough}, for which Integrated Gradients does not "
        f"exist; fit the model with {smooth}."
    )


def check_smooth(kernel: Kernel, points: Float[Tensor, "k d"]) -> None:
    """Refuse a kernel whose functions have no derivative: E (f(x+h) - f(x))^2 must fall like h^2, not like h.

    The smallest steps at which the variance follows a power of h, without rounding, decide: there even a small rough
    part is visible, while effects of larger steps (a short lengthscale, a period) are not.
    """
    x = points[:1]
    up, down = points.amax(0) - x[0], points.amin(0) - x[0]
    spread = torch.where(up >= -down, up, down)  # towards other points: some kernels are defined only there
    spread = torch.where(spread != 0, spread, torch.where(x[0] != 0, x[0].abs(), 1))
    h = 2.0 ** (-torch.arange(52 * STEPS, dtype=x.dtype) / STEPS)
    h = h[h > DIGITS * (x[0] / spread).abs().max()]
    y = x + h[:, None] * spread
    here = kernel.diagonal(x)
    pairs = torch.cat([kernel(x, block)[0] for block in y.split(BLOCK)])
    variance = here + kernel.diagonal(y) - 2 * pairs
    power = _power(torch.where(variance > RESOLVED * here, variance, torch.nan).log2())
    if power is None or power >= ROUGH:
        return
    raise ValueError(
        "expected a kernel whose functions have a derivative, where the variance of f(x + h) - f(x) falls like h^2, "
        f"got one where it falls like h^{power:.2f}; fit the model with a smoother kernel, since Integrated Gradients "
        "does not exist for this one."
    )


def _power(logarithms: Float[Tensor, " k"]) -> float | None:
    """The slope of the last straight window, for steps h that become smaller; None if there is none."""
    if len(logarithms) < WINDOW:
        return None
    windows, t = logarithms.unfold(0, WINDOW, 1), -torch.arange(WINDOW, dtype=logarithms.dtype) / STEPS
    t = t - t.mean()
    slopes = windows @ t / (t @ t)
    residuals = windows - windows.mean(1, keepdim=True) - slopes[:, None] * t
    straight = slopes[residuals.abs().amax(1) <= STRAIGHT]  # a window with a NaN does not count
    return float(straight[-1]) if len(straight) else None
