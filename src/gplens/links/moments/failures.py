"""Errors for a function g whose moments cannot be computed to the tolerance."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.links.moments.resolution import COUNTS as COEFFICIENTS

FAR = (10.5, 13.0, 17.0, 23.0, 31.0)
"""Standard deviations at which g is checked once. If g matters there, events with probability below 1e-19 decide."""
REMEDY = (
    "Use a link with its own moments (such as links.Exp(), links.Probit(), links.Softplus()), a g that is "
    "defined everywhere and smooth to its second derivative (no relu, abs, clamp or step; torch's softplus "
    "jumps at its threshold), or a larger tolerance."
)


class QuadratureError(ArithmeticError):
    """The moments of g could not be computed to the tolerance.

    Example:
        >>> try:
        ...     gplens.links.Quadrature(torch.relu).moments(torch.zeros(1).double(), torch.ones(1).double())
        ... except gplens.links.QuadratureError as error:
        ...     print("refused")
        refused
    """


def moment_failure(
    m: Float[Tensor, " e"],
    v: Float[Tensor, " e"],
    error: Float[Tensor, " e"],
    tolerance: float,
    *,
    of: int,
    nodes: int,
) -> QuadratureError:
    """The error for elements that missed the tolerance with the largest number of nodes."""
    worst = error.argmax()
    return QuadratureError(
        f"expected the moments of g to {tolerance:.1e} relative to E|g|, E|g'| and E|g''|, got an estimated error of "
        f"{error[worst].item():.1e} at m={m[worst].item():.6g}, v={v[worst].item():.6g} (the worst of {m.numel()} "
        f"among {of} elements) with {nodes} nodes. {REMEDY}"
    )


def pair_failure(
    m: Float[Tensor, " e"], v: Float[Tensor, " e"], error: Float[Tensor, " e"], tolerance: float, *, of: int
) -> QuadratureError:
    """The error for nodes that missed the tolerance with the largest number of coefficients."""
    worst = error.argmax()
    return QuadratureError(
        f"expected pair moments of g to {tolerance:.1e}, got an estimated error of {error[worst].item():.1e} at "
        f"m={m[worst].item():.6g}, v={v[worst].item():.6g} (the worst of {m.numel()} among {of} nodes) with "
        f"{COEFFICIENTS[-1]} coefficients. Error bars need a third derivative. {REMEDY}"
    )


def check_far(
    g: Callable[[Tensor], Tensor],
    m: Float[Tensor, " e"],
    sd: Float[Tensor, " e"],
    size: Float[Tensor, " e"],
    tail: Float[Tensor, " e"],
    tolerance: float,
) -> None:
    """Refuse a g that is negligible at the ends of the range, where its share of E|g| is `tail`, but not beyond."""
    z = m.new_tensor([*FAR, *(-z for z in FAR)])
    try:
        with torch.no_grad():
            values = g(m[:, None] + sd[:, None] * z).abs()
    except ValueError:  # the parameters of a distribution may be invalid that far out
        return
    share = (values * torch.exp(-(z**2) / 2)).nan_to_num(nan=0.0, posinf=0.0).amax(1)  # an overflow is no evidence
    far = (share > tolerance * size) & (tail <= tolerance) & (size > 0)
    if bool(far.any()):
        i = int((share / size).where(far, 0).argmax())
        raise QuadratureError(
            f"expected a g whose moments come from |f - m| < 9 sd, got one whose values further out, times their "
            f"density of less than 1e-19, are {float(share[i] / size[i]):.1e} E|g|, at m={m[i].item():.6g}, "
            f"v={sd[i].item() ** 2:.6g}. {REMEDY}"
        )


def check_finite_moments(
    moments: Float[Tensor, "3 e"], m: Float[Tensor, " e"], v: Float[Tensor, " e"], tolerance: float
) -> None:
    """Refuse a g that is NaN or infinite within the range of a Gaussian."""
    bad = ~torch.isfinite(moments).all(0)
    if bool(bad.any()):
        raise QuadratureError(
            f"expected g, g' and g'' to be finite on the range of N(m, v), to an error of {tolerance:.1e}, got "
            f"{int(bad.sum())} of {m.numel()} elements where they are not, the first at m={m[bad][0].item():.6g}, "
            f"v={v[bad][0].item():.6g}. {REMEDY}"
        )
