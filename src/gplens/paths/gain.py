"""How much nearer Kronrod's sums are than Gauss's to a number that is known without any quadrature (MATH 4.9a)."""

import torch
from jaxtyping import Float
from torch import Tensor

MARGIN = 100
"""On the part of Gauss's error that Kronrod's sums are seen to have. Recipe: scripts/kronrod_gain.py"""
LEAST = 3e-3
"""The least part of Gauss's error that is believed, however near Kronrod's sums seem. Recipe: as above."""


def gain(kronrod: Float[Tensor, "*b"], gauss: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    """The part of |Kronrod - Gauss| that is believed to be Kronrod's error, given how far both are off  (4.9a)."""
    return ratio(MARGIN * kronrod, gauss).clamp(LEAST, 1.0)


def ratio(a: Float[Tensor, "*b"], b: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    """a / b; 0/0 is 0: nothing moves, no error."""
    return (a / b).nan_to_num(nan=0.0, posinf=torch.inf)
