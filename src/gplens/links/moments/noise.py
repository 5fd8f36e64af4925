"""The size of rounding errors of a function where it is nearly constant."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.links.moments.derivatives import differentiate

PROBES = 33
"""The number of points between -a and a, a = |m| + reach sd, at which the size of g is measured."""

ROUNDINGS = 256
"""Roundings of a number of the size of g. tanh' = 1 - tanh^2 leaves up to 2 for |f| > 15, where 1/f is small."""


def rounding_of(
    g: Callable[[Tensor], Tensor], m: Float[Tensor, " e"], reach: Float[Tensor, " e"], order: int
) -> Float[Tensor, "k e"]:
    """The rounding errors of the moments of g, g', ... at means m where g cancels, such as 1 - tanh(f) at f = 18.

    Relative to the largest |g^(k)|, or |g| a^-k, between -a and a, a = |m| + reach.
    """
    a = (m.abs() + reach)[:, None]
    f = a * torch.linspace(-1, 1, PROBES, dtype=m.dtype, device=m.device)
    size = differentiate(g, f, order=order).abs().nan_to_num(posinf=0.0).amax(-1)
    power = torch.arange(order + 1, dtype=m.dtype, device=m.device)[:, None]
    size = torch.maximum(size, size[0] / a[:, 0].clamp(min=torch.finfo(m.dtype).tiny) ** power)
    return ROUNDINGS * torch.finfo(m.dtype).eps * size + torch.finfo(m.dtype).tiny
