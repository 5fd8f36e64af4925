"""Distances of many lengthscales, which would lose digits in products over the features (MATH 4.3a, 4.3b)."""

import torch
from jaxtyping import Float
from torch import Tensor

FAR = 16.0
"""Lengthscales from end to end beyond which a line is described from its middle, and from the centre to a support point
beyond which it is described from the point nearest to each of them: what cancels is then 1e-16 FAR^2."""


def is_wide(norm2: Float[Tensor, "*c n"]) -> bool:
    """Whether squared distances of support points from their centre, in lengthscales, are too large for products."""
    return norm2.numel() > 0 and float(norm2.max()) > FAR**2


def from_nearest_points(
    x0: Float[Tensor, "#b d"], d: Float[Tensor, "b d"], t: Float[Tensor, "b q"], z: Float[Tensor, "n d"]
) -> Float[Tensor, "b q n"]:
    """r2 = |p - z|^2 + (t - tau) (2 (p - z)'d + (t - tau) d'd),  p = x0 + tau d, feature by feature  (4.3b).

    O(nd) differences for each line, where products over the features would cancel.
    """
    c = (d**2).sum(1, keepdim=True)
    tau = ((d @ z.T - (x0 * d).sum(1, keepdim=True)) / c).nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    tau = torch.maximum(torch.minimum(tau, t.amax(1, keepdim=True)), t.amin(1, keepdim=True)) if t.shape[1] else tau
    least, slope = torch.zeros_like(tau), torch.zeros_like(tau)
    for x0_k, d_k, z_k in zip(x0.T[..., None], d.T[..., None], z.T, strict=True):
        apart = (x0_k - z_k) + tau * d_k
        least, slope = least + apart**2, slope + 2 * apart * d_k
    beyond = t[:, :, None] - tau[:, None]
    return (beyond * c[:, None]).add_(slope[:, None]).mul_(beyond).add_(least[:, None]).clamp_(min=0)
