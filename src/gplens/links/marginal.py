"""The one check of the (m, v) that every link receives. Nothing is clamped or cast; it is refused."""

import torch
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
