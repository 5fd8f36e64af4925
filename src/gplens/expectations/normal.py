"""The standard normal distribution, to the last digits of its left tail."""

from math import pi, sqrt

import torch

from gplens.lines.shapes import Batch


def cdf(u: Batch) -> Batch:
    """Phi(u) = erfc(-u/sqrt(2))/2, relative to itself. torch.special.ndtr is (1 + erf)/2, which is zero below -8.3."""
    return torch.special.erfc(u * -sqrt(0.5)) / 2


def density(u: Batch) -> Batch:
    """N(u; 0, 1)."""
    return torch.exp(-(u**2) / 2) / sqrt(2 * pi)
