"""Checks of the covariances that links receive. Invalid ones are refused, not clamped or cast."""

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.processes.process import check_finite, check_marginal

ROUNDING = 1e-8
"""The amount by which rounding may bring |c| above sqrt(v v') in float64, relative to the largest variance of the path:
c is a difference of terms of that size. Such a c is taken as a correlation of +-1."""


def check_joint(m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Tensor) -> None:
    """Refuse invalid m, v and c: every pair of nodes needs a finite c, with |c| <= sqrt(v v') up to rounding."""
    check_marginal(m, v)
    b, q = m.shape
    if c.shape != (b, q, q) or c.dtype != m.dtype:
        raise ValueError(
            f"expected c of {m.dtype} and shape {(b, q, q)}, the covariance of every pair of the q nodes of each path, "
            f"got {c.dtype} and shape {tuple(c.shape)}."
        )
    check_finite("c", c)
    if c.numel() == 0:
        return
    sd, rounding = v.sqrt(), max(ROUNDING, 64 * torch.finfo(m.dtype).eps)
    excess = c.abs() - sd[:, :, None] * sd[:, None, :] - rounding * v.amax(-1)[:, None, None]
    if bool((excess > 0).any()):
        row, i, j = torch.unravel_index(excess.argmax(), c.shape)
        raise ValueError(
            f"expected |c| <= sqrt(v v') up to a rounding of {rounding:g}, got {int((excess > 0).sum())} of "
            f"{c.numel()} covariances above it, the worst c={c[row, i, j].item():.6g} for v={v[row, i].item():.6g} and "
            f"v'={v[row, j].item():.6g}. Compute m, v and c from one posterior, in float64."
        )


def correlation(v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> Float[Tensor, "b q q"]:
    """c/sqrt(v v'), set to +-1 where rounding exceeds it; zero where v or v' is zero."""
    sd = v.sqrt()
    scale = sd[:, :, None] * sd[:, None, :]
    return torch.where(scale > 0, c / scale, 0).clamp(-1, 1)
