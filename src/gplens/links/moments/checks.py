"""Checks of the means, variances and covariances that links receive. Nothing is clamped or cast: it is refused."""

import torch
from jaxtyping import Float
from torch import Tensor


def check_marginal(m: Tensor, v: Tensor) -> None:
    """Refuse an (m, v) that is no N(m, v): same shape and floating dtype, both finite, v >= 0."""
    if m.shape != v.shape:
        raise ValueError(
            f"m has shape {tuple(m.shape)} and v {tuple(v.shape)}; a link wants one variance per mean. "
            "Expand them to one shape first: m, v = torch.broadcast_tensors(m, v)."
        )
    if m.dtype != v.dtype or not m.is_floating_point():
        raise ValueError(
            f"m is {m.dtype} and v {v.dtype}; a link wants one floating dtype and casts nothing. "
            "Convert both, best to float64: m.double(), v.double()."
        )
    check_finite("m", m)
    check_finite("v", v)
    if bool((v < 0).any()):
        raise ValueError(
            f"{int((v < 0).sum())} of {v.numel()} variances are negative, the smallest {v.min().item():.6g}; "
            "a link wants v >= 0. Rounding in k(x,x) - k'Ak does this: compute the posterior in float64 "
            "or with more noise, or clip v where you can tell that it is rounding."
        )


def check_finite(name: str, x: Tensor) -> None:
    """Refuse NaN and infinity."""
    bad = ~torch.isfinite(x)
    if bool(bad.any()):
        raise ValueError(
            f"{int(bad.sum())} of {x.numel()} entries of {name} are NaN or infinite; a link wants finite m "
            "and v. Look for missing values in the inputs and for a model whose training diverged."
        )


ROUNDING = 1e-8
"""By how much |c| may exceed sqrt(v v') in float64, relative to the largest variance of the path: c is a difference of
terms of that size. What exceeds it by less is taken as a correlation of +-1."""


def check_joint(m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Tensor) -> None:
    """Refuse an (m, v, c) that is no Gaussian: one c per pair of nodes, finite, |c| <= sqrt(v v') but for rounding."""
    check_marginal(m, v)
    b, q = m.shape
    if c.shape != (b, q, q) or c.dtype != m.dtype:
        raise ValueError(
            f"c is {c.dtype} of shape {tuple(c.shape)}; pair moments want {m.dtype} of shape {(b, q, q)}, the "
            "covariance of every pair of the q nodes of each path."
        )
    check_finite("c", c)
    if c.numel() == 0:
        return
    sd, rounding = v.sqrt(), max(ROUNDING, 64 * torch.finfo(m.dtype).eps)
    excess = c.abs() - sd[:, :, None] * sd[:, None, :] - rounding * v.amax(-1)[:, None, None]
    if bool((excess > 0).any()):
        row, i, j = torch.unravel_index(excess.argmax(), c.shape)
        raise ValueError(
            f"{int((excess > 0).sum())} of {c.numel()} covariances exceed sqrt(v v'), the worst "
            f"c={c[row, i, j].item():.6g} for v={v[row, i].item():.6g} and v'={v[row, j].item():.6g}, beyond the "
            f"{rounding:g} that rounding explains. Compute m, v and c from one posterior, in float64."
        )


def correlation(v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> Float[Tensor, "b q q"]:
    """c/sqrt(v v'), where rounding has taken it beyond +-1 put back there; zero where v or v' is."""
    sd = v.sqrt()
    scale = sd[:, :, None] * sd[:, None, :]
    return torch.where(scale > 0, c / scale, 0).clamp(-1, 1)
