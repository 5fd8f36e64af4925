"""Ratios of the normal density, its distribution function and expected improvement, to the digits of their left tails.

With R(u) = Phi(u)/phi(u), Mills' ratio at -u, and h(u) = phi(u) + u Phi(u), the expected improvement in units of the
deviation, everything is a function of 1 + u R(u) = h(u)/phi(u) for u < 0, where phi itself may be zero (MATH 11.5).
"""

from math import log, pi, sqrt

import torch

from gplens.expectations.normal import cdf, density
from gplens.lines.shapes import Batch

FAR = -50.0
"""Below this u, 1 + u R(u) is computed by its asymptotic series, whose sixth term is 1e-13 of the first there. Above
it, the difference loses up to u^2 = 2500 units of rounding."""
SERIES = (1.0, -3.0, 15.0, -105.0, 945.0)
"""1 + u R(u) = u^-2 (1 - 3 u^-2 + 15 u^-4 - ...)."""


def mills(u: Batch) -> Batch:
    """R(u) = Phi(u)/phi(u) for u <= 0."""
    return sqrt(pi / 2) * torch.special.erfcx(u * -sqrt(0.5))


def surplus(u: Batch) -> Batch:
    """1 + u R(u) = h(u)/phi(u) for u <= 0."""
    near, far = u.clamp(min=FAR), u.clamp(max=FAR)
    w = far**-2
    series = w * sum(coefficient * w**i for i, coefficient in enumerate(SERIES))
    return torch.where(u < FAR, series, 1 + near * mills(near))


def log_density(u: Batch) -> Batch:
    """log phi(u)."""
    return -(u**2) / 2 - log(2 * pi) / 2


def log_cdf(u: Batch) -> Batch:
    """log Phi(u), computed from R for u < 0."""
    left, right = u.clamp(max=0), u.clamp(min=0)
    return torch.where(u < 0, log_density(left) + mills(left).log(), torch.log1p(-cdf(-right)))


def density_over_cdf(u: Batch) -> Batch:
    """phi(u)/Phi(u)."""
    left, right = u.clamp(max=0), u.clamp(min=0)
    return torch.where(u < 0, 1 / mills(left), density(right) / cdf(right))


def log_improvement(u: Batch) -> Batch:
    """log h(u)."""
    left, right = u.clamp(max=0), u.clamp(min=0)
    direct = density(right) + right * cdf(right)
    return torch.where(u < 0, log_density(left) + surplus(left).log(), direct.log())


def over_improvement(u: Batch) -> tuple[Batch, Batch]:
    """Phi(u)/h(u) and phi(u)/h(u)."""
    left, right = u.clamp(max=0), u.clamp(min=0)
    direct, tail = density(right) + right * cdf(right), surplus(left)
    return (
        torch.where(u < 0, mills(left) / tail, cdf(right) / direct),
        torch.where(u < 0, 1 / tail, density(right) / direct),
    )
