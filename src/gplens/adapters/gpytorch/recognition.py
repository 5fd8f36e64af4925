"""Recognition of a function g of the latent value as a closed-form link, by its values (MATH 2)."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from gplens import links
from gplens.links import Link
from gplens.processes.process import Marginals

ELEMENTARY = (links.Identity(), links.Exp(), links.Square())
CLOSED = (*ELEMENTARY, links.Softplus(), links.Probit(), links.Sigmoid())
"""Links with closed-form moments. A host's mean function that equals one of them, scaled and shifted, is replaced."""
PROBES = 100 * torch.frac(torch.arange(1, 401, dtype=torch.float64) * 0.6180339887498949) - 50
"""Latent values within +-50, spread by the golden section so that no period of g can hide between them."""
NEAR = torch.linspace(-4, 4, 9, dtype=torch.float64)
"""Latent values between which the typical variation of g is measured."""
DEVIATIONS = torch.tensor([-7.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 7.0], dtype=torch.float64)
"""The range in which f ~ N(m, v) is probed, in standard deviations. The probability beyond 7 is 3e-12, below
`ACCURACY`."""
SAME = 1e-9
"""The required agreement at the probes, relative to the variation of g."""
FLOOR = 2e-15
"""Rounding, relative to the largest summand of g: torch's normal cdf is a difference that ends in zero."""


def latent_values(marginals: Marginals) -> Float[Tensor, " k"]:
    """Latent values of a call: within 7 standard deviations of m, and some up to twice as far out.

    The values further out cover the nodes of paths, whose m may leave the range of m at the compared points.
    """
    f = (marginals.m + marginals.v.clamp(min=0).sqrt() * DEVIATIONS).flatten()  # v of -1e-17 is rounding
    reach = 2 * f.abs().max() / PROBES.abs().max()
    return f if bool(reach <= 1) else torch.cat([f, reach * PROBES[:64]])


def recognise(
    g: Callable[[Tensor], Tensor], candidates: tuple[Link, ...] = CLOSED, latent: Float[Tensor, " k"] = PROBES[:0]
) -> Link:
    """The first candidate that equals g up to scale and shift; quadrature over g if there is none.

    They are compared at `PROBES` and at the given latent values.
    """
    f = torch.cat([PROBES.new_tensor([0.0, 1.0]), NEAR, PROBES, latent])
    with torch.no_grad():
        values = g(f)
    for link in candidates:
        if _same(link, torch.ones_like(f[0]), torch.zeros_like(f[0]), f, values):
            return link
        at_zero, at_one = link(f[:2])
        scale = (values[1] - values[0]) / (at_one - at_zero)
        offset = values[0] - scale * at_zero
        if bool(offset.abs() <= FLOOR * (values[0].abs() + (scale * at_zero).abs())):
            offset = torch.zeros_like(offset)
        if _same(link, scale, offset, f, values):
            return links.Affine(link, float(scale), float(offset))
    return links.Quadrature(g)


def agrees(link: Link, f: Float[Tensor, " k"], values: Float[Tensor, " k"]) -> bool:
    """Whether a recognised link also has the values of g at these latent values."""
    inner, scale, offset = (link.link, link.scale, link.offset) if isinstance(link, links.Affine) else (link, 1.0, 0.0)
    return _same(inner, f.new_tensor(scale), f.new_tensor(offset), f, values)


def _same(link: Link, scale: Tensor, offset: Tensor, f: Float[Tensor, " k"], values: Float[Tensor, " k"]) -> bool:
    """Whether scale * link + offset has the given values, up to the rounding of both."""
    varying = scale * link(f)
    ours, summand = varying + offset, offset.abs() + scale.abs()
    if link in ELEMENTARY and not bool(offset):
        summand = torch.zeros_like(offset)  # hosts round small values of log(1 + e^f) and 1/2 + erf/2, links do not
    limit = SAME * varying.abs() + FLOOR * (summand + values.abs())
    return bool(((ours == values) | ((ours - values).abs() <= limit)).all())  # equal where both overflow
