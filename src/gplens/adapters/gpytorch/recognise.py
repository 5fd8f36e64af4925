"""Functions of a host that are closed-form links of ours."""

from collections.abc import Callable

import torch
from torch import Tensor

from gplens import links
from gplens.links import Link

CLOSED = (links.Identity(), links.Softplus(), links.Probit(), links.Sigmoid(), links.Exp(), links.Square())
"""Links with moments of their own. A host's mean function that is one of them, scaled and shifted, becomes it."""
PROBES = torch.linspace(-30, 30, 241, dtype=torch.float64)
SAME = 1e-9
"""Agreement at the probes, relative to 1 + |g|; torch's softplus is off by 1e-10 past its threshold of 20."""


def recognise(g: Callable[[Tensor], Tensor], also: tuple[Link, ...] = ()) -> Link:
    """The closed-form link that g is, up to scale and shift; else quadrature over g itself."""
    with torch.no_grad():
        values, zero, one = g(PROBES), g(PROBES.new_zeros(1)), g(PROBES.new_ones(1))
    for link in (*CLOSED, *also):
        own, own_zero, own_one = (link(f) for f in (PROBES, PROBES.new_zeros(1), PROBES.new_ones(1)))
        scale = (one - zero) / (own_one - own_zero)
        offset = zero - scale * own_zero
        if bool(((scale * own + offset - values).abs() <= SAME * (1 + values.abs())).all()):
            return _scaled(link, float(scale), float(offset))
    return links.Quadrature(g)


def _scaled(link: Link, scale: float, offset: float) -> Link:
    if abs(scale - 1) < 1e-12 and abs(offset) < 1e-12:  # the rounding of the four probes
        return link
    return links.Affine(link, scale, offset)
