"""The one check of the (m, v, c) that pair moments receive."""

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.links.marginal import check_finite, check_marginal

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
