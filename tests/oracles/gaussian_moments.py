"""E g^(k)(f), f ~ N(m, v), by Gauss-Legendre in mpmath over panels; g and its derivatives written by hand."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import mpmath as mp
from mpmath.calculus.quadrature import GaussLegendre

Function = Callable[[mp.mpf], mp.mpf]
Points = tuple[float, ...]

DIGITS = 20
SPLITS: Points = (-20, -8, -3, -1.5, 0, 1.5, 3, 5, 8, 20)
"""Values of f where a panel ends: the functions below change within a few units of zero."""

NODES = GaussLegendre(mp.mp).calc_nodes(4, 80)
"""24 nodes on [-1, 1], to 80 bits."""


def expectation(g: Function, m: float, v: float) -> mp.mpf:
    """Int g(m + sd z) N(z; 0, 1) dz."""
    with mp.workdps(DIGITS):
        return mp.fdot((g(f), w) for f, w in rule(m, v, centre(g, v)))


@cache
def rule(m: float, v: float, middle: mp.mpf) -> list[tuple[mp.mpf, mp.mpf]]:
    """Values of f and weights, N(z; 0, 1) included: 24 Gauss-Legendre nodes on each panel in z."""
    if v == 0:
        return [(mp.mpf(m), mp.mpf(1))]
    points, sd = [], mp.sqrt(mp.mpf(v))
    for left, right in pairwise(panels(m, sd, middle, SPLITS)):
        nodes = [((right + left + (right - left) * x) / 2, (right - left) / 2 * w) for x, w in NODES]
        points += [(m + sd * z, w * mp.npdf(z)) for z, w in nodes]
    return points


def relative_expectation(g: Function, m: float, v: float) -> mp.mpf:
    """The same relative to itself, however small, for a g between e^f and a step: panels around its bulk in z."""
    with mp.workdps(DIGITS):
        sd = mp.sqrt(mp.mpf(v))
        bulk = min(sd, max(-m / sd, 0)) if m < 0 else max(-sd, -m / sd)
        right = max(bulk, 0)  # E g has its bulk at z = 0 where E g' has it to the left
        splits = {z + k for z in (bulk, right) for k in (-10, -6, -3, -1, 0, 1, 3, 6, 10)}
        splits |= {(x - m) / sd for x in SPLITS}
        edges = sorted(z for z in splits if bulk - 10.01 < z < right + 10.01)
        total = mp.mpf(0)
        for left, right in pairwise(edges):
            nodes = [((right + left + (right - left) * x) / 2, (right - left) / 2 * w) for x, w in NODES]
            total += mp.fsum(g(m + sd * z) * mp.npdf(z) * w for z, w in nodes)
        return total


def expectation_again(g: Function, m: float, v: float) -> mp.mpf:
    """The same by mpmath's adaptive tanh-sinh rule over other panels, to check `expectation`."""
    with mp.workdps(DIGITS):
        sd = mp.sqrt(mp.mpf(v))
        edges = panels(m, sd, centre(g, v), (-33, -5, -1, 1, 4, 11))
        return mp.quad(lambda z: g(m + sd * z) * mp.npdf(z), edges)


def centre(g: Function, v: float) -> mp.mpf:
    """Where the integrand peaks in z, roughly: e^f moves the peak by sd."""
    return mp.sqrt(mp.mpf(v)) if g is exp else mp.mpf(0)


def panels(m: float, sd: mp.mpf, middle: mp.mpf, splits: Points) -> list[mp.mpf]:
    """Ends in z, over 20 standard deviations."""
    fixed = {middle + k for k in (-10, -5, -2, 0, 2, 5, 10)}
    return sorted(fixed | {z for z in ((x - m) / sd for x in splits) if abs(z - middle) < 10})


@cache
def moments(g: tuple[Function, Function, Function], m: float, v: float) -> tuple[float, float, float]:
    """E g, E g', E g'', rounded once."""
    value, slope, curvature = (float(_cached(k, m, v)) for k in g)
    return value, slope, curvature


@cache
def _cached(g: Function, m: float, v: float) -> mp.mpf:
    return expectation(g, m, v)


def zero(f: mp.mpf) -> mp.mpf:
    return mp.mpf(0)


def one(f: mp.mpf) -> mp.mpf:
    return mp.mpf(1)


def two(f: mp.mpf) -> mp.mpf:
    return mp.mpf(2)


def line(f: mp.mpf) -> mp.mpf:
    return f


def double(f: mp.mpf) -> mp.mpf:
    return 2 * f


def square(f: mp.mpf) -> mp.mpf:
    return f * f


def exp(f: mp.mpf) -> mp.mpf:
    return mp.exp(f)


def softplus(f: mp.mpf) -> mp.mpf:
    return mp.log1p(mp.exp(f)) if f < 0 else f + mp.log1p(mp.exp(-f))


def sigmoid(f: mp.mpf) -> mp.mpf:
    return 1 / (1 + mp.exp(-f))


def sigmoid1(f: mp.mpf) -> mp.mpf:
    return (mp.sech(f / 2) / 2) ** 2


def sigmoid2(f: mp.mpf) -> mp.mpf:
    return -sigmoid1(f) * mp.tanh(f / 2)


def cdf(f: mp.mpf) -> mp.mpf:
    return mp.ncdf(f)


def density(f: mp.mpf) -> mp.mpf:
    return mp.npdf(f)


def density1(f: mp.mpf) -> mp.mpf:
    return -f * mp.npdf(f)


def tail(f: mp.mpf) -> mp.mpf:
    """Phi((f - 1.5)/sqrt(0.25))."""
    return mp.ncdf((f - mp.mpf("1.5")) * 2)


def tail1(f: mp.mpf) -> mp.mpf:
    return mp.npdf((f - mp.mpf("1.5")) * 2) * 2


def tail2(f: mp.mpf) -> mp.mpf:
    return -(f - mp.mpf("1.5")) * 2 * mp.npdf((f - mp.mpf("1.5")) * 2) * 4


def mixture(f: mp.mpf) -> mp.mpf:
    """1.5 Phi(f/sqrt(1/2)) - Phi(f/2)/2."""
    return mp.mpf("1.5") * mp.ncdf(f * mp.sqrt(2)) - mp.ncdf(f / 2) / 2


def mixture1(f: mp.mpf) -> mp.mpf:
    return mp.mpf("1.5") * mp.sqrt(2) * mp.npdf(f * mp.sqrt(2)) - mp.npdf(f / 2) / 4


def mixture2(f: mp.mpf) -> mp.mpf:
    return -3 * mp.sqrt(2) * f * mp.npdf(f * mp.sqrt(2)) + f * mp.npdf(f / 2) / 16


def laplace(f: mp.mpf) -> mp.mpf:
    """P(y > 1.5), y ~ Laplace(f, 0.7)."""
    a = (mp.mpf("1.5") - f) / mp.mpf(0.7)
    return mp.exp(-a) / 2 if a > 0 else 1 - mp.exp(a) / 2


def laplace1(f: mp.mpf) -> mp.mpf:
    return mp.exp(-abs(mp.mpf("1.5") - f) / mp.mpf(0.7)) / (2 * mp.mpf(0.7))


def laplace2(f: mp.mpf) -> mp.mpf:
    return mp.sign(mp.mpf("1.5") - f) * laplace1(f) / mp.mpf(0.7)


def tanh(f: mp.mpf) -> mp.mpf:
    return mp.tanh(f)


def tanh1(f: mp.mpf) -> mp.mpf:
    return mp.sech(f) ** 2


def tanh2(f: mp.mpf) -> mp.mpf:
    return -2 * mp.tanh(f) * mp.sech(f) ** 2


IDENTITY = (line, one, zero)
SQUARE = (square, double, two)
EXP = (exp, exp, exp)
PROBIT = (cdf, density, density1)
EXCEEDS = (tail, tail1, tail2)
MIXTURE = (mixture, mixture1, mixture2)
LAPLACE = (laplace, laplace1, laplace2)
SIGMOID = (sigmoid, sigmoid1, sigmoid2)
SOFTPLUS = (softplus, sigmoid, sigmoid1)
TANH = (tanh, tanh1, tanh2)
