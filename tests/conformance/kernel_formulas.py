"""Kernels of gplens, each beside its formula written independently as a function of two vectors.

Every function here draws hyper-parameters and returns a pair: the kernel on trial and the formula that it is held to.
"""

import torch
from torch import Tensor

from gplens.kernels import (
    RBF,
    ActiveDimensions,
    Autograd,
    Bilinear,
    Constant,
    Cosine,
    Kernel,
    Linear,
    Matern,
    Matern32,
    Matern52,
    Periodic,
    PiecewisePolynomial,
    Polynomial,
    Power,
    Product,
    RadialPeriodic,
    RationalQuadratic,
    Scale,
    Sum,
    Warped,
)
from oracles.dense import Naive

FEATURES = 4
"""The number of columns of every input in the conformance tests."""
Pair = tuple[Kernel, Naive]
"""A kernel of gplens and its formula."""


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(g: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=g, dtype=torch.float64)


def uniform(g: torch.Generator, low: float, high: float, *shape: int) -> Tensor:
    return low + (high - low) * torch.rand(shape, generator=g, dtype=torch.float64)


def squared(x: Tensor, z: Tensor, scale: Tensor) -> Tensor:
    return (((x - z) / scale) ** 2).sum(-1)


def distance(x: Tensor, z: Tensor, scale: Tensor) -> Tensor:
    """The root of `squared`, with derivative zero at zero, as every kernel here has it."""
    r2 = squared(x, z, scale)
    return torch.where(r2 > 0, r2, 1).sqrt() * (r2 > 0)


def rbf(g: torch.Generator, d: int = FEATURES) -> Pair:
    scale = uniform(g, 0.7, 2.5, d)
    return RBF(scale), lambda x, z: torch.exp(-0.5 * squared(x, z, scale))


def matern32(g: torch.Generator, d: int = FEATURES) -> Pair:
    scale = uniform(g, 0.7, 2.5, d)
    return Matern32(
        scale
    ), lambda x, z: (1 + 3**0.5 * distance(x, z, scale)) * torch.exp(-(3**0.5) * distance(x, z, scale))


def matern52(g: torch.Generator, d: int = FEATURES) -> Pair:
    scale = uniform(g, 0.7, 2.5, d)

    def k(x: Tensor, z: Tensor) -> Tensor:
        r = distance(x, z, scale)
        return (1 + 5**0.5 * r + 5 * r**2 / 3) * torch.exp(-(5**0.5) * r)

    return Matern52(scale), k


def matern_any(g: torch.Generator, d: int = FEATURES) -> Pair:
    """nu = 7/2, as the mixture of RBF kernels over a Gamma variable that it is: no Bessel function."""
    scale, nu = uniform(g, 0.7, 2.5, d), 3.5
    u = torch.arange(-28, 4.5, 0.1, dtype=torch.float64)
    log_weight = nu * u - u.exp()
    weight = (log_weight - log_weight.logsumexp(0)).exp()

    def k(x: Tensor, z: Tensor) -> Tensor:
        return torch.exp(-squared(x, z, scale)[..., None] * nu / (2 * u.exp())) @ weight

    return Matern(scale, nu), k


def rational(g: torch.Generator, d: int = FEATURES) -> Pair:
    scale, alpha = uniform(g, 0.7, 2.5, d), uniform(g, 0.4, 3)
    return RationalQuadratic(scale, alpha), lambda x, z: 1 / (1 + squared(x, z, scale) / (2 * alpha)) ** alpha


def piecewise(g: torch.Generator, d: int = FEATURES) -> Pair:
    """Wendland's function of smoothness 2 in up to five dimensions."""
    scale = uniform(g, 2.5, 4, d)

    def k(x: Tensor, z: Tensor) -> Tensor:
        r = distance(x, z, scale)
        return (1 - r).clamp(min=0) ** 7 * (1 + 7 * r + 16 * r**2)

    return PiecewisePolynomial(scale, 7, torch.tensor([16.0], dtype=torch.float64)), k


def cosine(g: torch.Generator, d: int = FEATURES) -> Pair:
    period = uniform(g, 1.5, 4, d)
    return Cosine(period), lambda x, z: torch.cos(torch.pi * distance(x, z, period))


def periodic(g: torch.Generator, d: int = FEATURES) -> Pair:
    scale, period = uniform(g, 0.8, 3, d), uniform(g, 1, 3, d)

    def k(x: Tensor, z: Tensor) -> Tensor:
        return torch.exp(-2 * (torch.sin(torch.pi * (x - z) / period) ** 2 / scale).sum(-1))

    return Periodic(scale, period), k


def radial_periodic(g: torch.Generator, d: int = FEATURES) -> Pair:
    period, width = uniform(g, 4, 8, d), uniform(g, 0.8, 2)
    return RadialPeriodic(period, width), lambda x, z: torch.exp(
        -2 * torch.sin(torch.pi * distance(x, z, period)) ** 2 / width**2
    )


def raised(inner: Pair, exponent: float) -> Pair:
    return Power(inner[0], exponent), lambda x, z: inner[1](x, z) ** exponent


def linear(g: torch.Generator, d: int = FEATURES) -> Pair:
    a = uniform(g, 0.1, 1, d)
    return Linear(a), lambda x, z: (a * x * z).sum(-1)


def bilinear(g: torch.Generator) -> Pair:
    root = uniform(g, -0.5, 0.7, FEATURES * FEATURES).view(FEATURES, FEATURES)
    G = root @ root.T
    return Bilinear(G), lambda x, z: ((x @ G) * z).sum(-1)


def polynomial(g: torch.Generator, d: int = FEATURES) -> Pair:
    a, offset = uniform(g, 0.05, 0.3, d), uniform(g, 0.2, 1)
    return Polynomial(a, offset, 3), lambda x, z: ((a * x * z).sum(-1) + offset) ** 3


def constant(g: torch.Generator) -> Pair:
    a = uniform(g, 0.5, 2)
    return Constant(a), lambda x, z: a + 0 * (x * z).sum(-1)


def scaled(inner: Pair, g: torch.Generator) -> Pair:
    a = uniform(g, 0.3, 2)
    return Scale(inner[0], a), lambda x, z: a * inner[1](x, z)


def active(inner: Pair, *dims: int) -> Pair:
    columns = list(dims)
    return ActiveDimensions(inner[0], torch.tensor(columns)), lambda x, z: inner[1](x[..., columns], z[..., columns])


def added(*parts: Pair) -> Pair:
    return Sum(tuple(k for k, _ in parts)), lambda x, z: sum(naive(x, z) for _, naive in parts)


def multiplied(*parts: Pair) -> Pair:
    def k(x: Tensor, z: Tensor) -> Tensor:
        result = parts[0][1](x, z)
        for _, naive in parts[1:]:
            result = result * naive(x, z)
        return result

    return Product(tuple(k for k, _ in parts)), k


def wrapped(g: torch.Generator, d: int = FEATURES) -> Pair:
    """A kernel gplens knows nothing of: RBF with a variance that depends on the input."""
    scale, w = uniform(g, 1, 2.5, d), 0.3 * normal(g, d)

    def k(x: Tensor, z: Tensor) -> Tensor:
        return torch.exp(x @ w + z @ w - 0.5 * squared(x, z, scale))

    return Autograd(lambda X, Z: k(X[:, None], Z[None]), lambda X: torch.exp(2 * X @ w)), k


def bent(g: torch.Generator) -> Pair:
    """Three columns that are smooth functions of the four features."""
    inner, naive = matern52(g, 3)

    def phi(x: Tensor) -> Tensor:
        return torch.stack([x[..., 0] + 0.3 * x[..., 1].sin(), x[..., 1] ** 2 / 3, x[..., 2] + 0.5 * x[..., 3]], dim=-1)

    return Warped(inner, phi), lambda x, z: naive(phi(x), phi(z))


def deep(g: torch.Generator) -> Pair:
    """Sums, products, scales and active dimensions, four levels of them."""
    hour = multiplied(active(periodic(g, 1), 1), active(matern52(g, 2), 0, 3))
    trend = scaled(added(active(linear(g, 2), 3, 2), constant(g)), g)
    return added(scaled(multiplied(hour, added(active(rbf(g, 1), 0), trend)), g), active(rational(g, 3), 3, 1, 0))
