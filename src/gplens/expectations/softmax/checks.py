"""Arguments of the softmax functions: what is wanted, what was got, what to do."""

import torch
from jaxtyping import Float
from torch import Tensor

Argument = Float[Tensor, "..."]
"""A tensor from outside. Its shape stands in the docstring, and the checks below answer a wrong one with a
sentence."""


def check_marginals(m: Tensor, v: Tensor) -> None:
    """Means and variances: float64, (elements, classes >= 2), finite, v >= 0."""
    if m.ndim != 2 or m.shape != v.shape:
        raise ValueError(
            "Means and variances must both have the shape (elements, classes); "
            f"got {tuple(m.shape)} and {tuple(v.shape)}. Reshape or broadcast them first."
        )
    if m.shape[1] < 2:
        raise ValueError(
            f"A softmax needs two classes or more; got {m.shape[1]}. For one latent function use the sigmoid link."
        )
    check_numbers(m, v)


def check_numbers(m: Tensor, v: Tensor) -> None:
    """Float64, finite, v >= 0."""
    if m.dtype != torch.float64 or v.dtype != torch.float64:
        raise ValueError(f"Means and variances must be float64; got {m.dtype} and {v.dtype}. Call .double() on them.")
    if not (bool(torch.isfinite(m).all()) and bool(torch.isfinite(v).all())):
        raise ValueError(
            "Means and variances must be finite; got NaN or infinity. "
            "Check the posterior that made them for a failed factorisation."
        )
    if bool((v < 0).any()):
        raise ValueError(
            f"Variances must not be negative; the smallest is {float(v.min()):.3g}. "
            "If it is rounding of a posterior variance, set it to zero before the call."
        )


def check_tolerance(tolerance: float) -> None:
    """A tolerance that double precision can keep."""
    if not 1e-12 <= tolerance <= 1e-2:
        raise ValueError(f"The tolerance must lie between 1e-12 and 1e-2; got {tolerance!r}. The default is 1e-9.")


def check_weights(a: Tensor, m: Tensor) -> None:
    """Output weights: (elements, channels, classes) beside m (elements, classes), float64."""
    if a.ndim != 3 or (a.shape[0], a.shape[2]) != tuple(m.shape) or a.dtype != torch.float64:
        raise ValueError(
            f"Output weights must be float64 of the shape ({m.shape[0]}, channels, {m.shape[1]}); "
            f"got {a.dtype} {tuple(a.shape)}. One channel that picks class c is a row of the identity."
        )


def check_mixing(M: Tensor) -> None:
    """Mixing weights: finite float64, (classes, latents)."""
    if M.ndim != 2 or M.dtype != torch.float64 or not bool(torch.isfinite(M).all()):
        raise ValueError(
            f"Mixing weights must be finite float64 of the shape (classes, latents); got {M.dtype} "
            f"{tuple(M.shape)} with {int((~torch.isfinite(M)).sum())} entries that are not finite."
        )
