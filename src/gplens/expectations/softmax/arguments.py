"""Checks of the arguments of the softmax functions."""

import torch
from jaxtyping import Float
from torch import Tensor

Argument = Float[Tensor, "..."]
"""A tensor from a user. The docstring states its shape, and the checks below refuse any other with a sentence."""


def check_marginals(m: Tensor, v: Tensor) -> None:
    """Means and variances: float64, (elements, classes >= 2), finite, v >= 0."""
    if m.ndim != 2 or m.shape != v.shape:
        raise ValueError(
            "expected means and variances of the same shape (elements, classes), got "
            f"{tuple(m.shape)} and {tuple(v.shape)}. Reshape or broadcast them first."
        )
    if m.shape[1] < 2:
        raise ValueError(
            f"expected two or more classes, got {m.shape[1]}. For one latent function use links.Sigmoid()."
        )
    check_numbers(m, v)


def check_numbers(m: Tensor, v: Tensor) -> None:
    """Float64, finite, v >= 0."""
    if m.dtype != torch.float64 or v.dtype != torch.float64:
        raise ValueError(
            f"expected means and variances in float64, got {m.dtype} and {v.dtype}. Call .double() on them."
        )
    if not (bool(torch.isfinite(m).all()) and bool(torch.isfinite(v).all())):
        raise ValueError(
            "expected finite means and variances, got NaN or infinity. "
            "Check the posterior that they come from for a failed factorisation."
        )
    if bool((v < 0).any()):
        raise ValueError(
            f"expected variances >= 0, got {float(v.min()):.3g}. "
            "If it is the rounding of a posterior variance, set it to zero before the call."
        )


def check_tolerance(tolerance: float) -> None:
    """A tolerance that double precision can keep."""
    if not 1e-12 <= tolerance <= 1e-2:
        raise ValueError(f"expected a tolerance in [1e-12, 1e-2], got {tolerance!r}; leave it out for 1e-9.")


def check_weights(a: Tensor, m: Tensor) -> None:
    """Output weights: (elements, channels, classes) beside m (elements, classes), float64."""
    if a.ndim != 3 or (a.shape[0], a.shape[2]) != tuple(m.shape) or a.dtype != torch.float64:
        raise ValueError(
            f"expected output weights in float64 of shape ({m.shape[0]}, channels, {m.shape[1]}), "
            f"got {a.dtype} {tuple(a.shape)}. A channel that selects class c is a row of the identity."
        )


def check_mixing(M: Tensor) -> None:
    """Mixing weights: finite float64, (classes, latents)."""
    if M.ndim != 2 or M.dtype != torch.float64 or not bool(torch.isfinite(M).all()):
        raise ValueError(
            f"expected finite mixing weights in float64 of shape (classes, latents), got {M.dtype} "
            f"{tuple(M.shape)} with {int((~torch.isfinite(M)).sum())} entries that are not finite."
        )
