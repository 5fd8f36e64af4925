"""One list of kernels and one of links: joining a list is joining the contract.

A kernel comes with its formula, written independently as a function of two vectors.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor

from gplens import Posterior
from gplens.kernels import (
    RBF,
    ActiveDimensions,
    Autograd,
    Constant,
    Cosine,
    Kernel,
    Linear,
    Matern,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    Power,
    Product,
    RadialPeriodic,
    RationalQuadratic,
    Scale,
    Sum,
    Warped,
)
from gplens.lines.line import Section
from gplens.lines.pull_back import Weights
from gplens.links import Exp, Identity, Probit, Sigmoid, Softplus, Square
from oracles.dense import DensePosterior, Naive, fit

FEATURES = 4
Pair = tuple[Kernel, Naive]
Draw = Callable[..., Tensor]

seeds = st.integers(0, 2**31 - 1)


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
    own = list(dims)
    return ActiveDimensions(inner[0], torch.tensor(own)), lambda x, z: inner[1](x[..., own], z[..., own])


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
    hour = multiplied(active(periodic(g, 1), 1), active(matern52(g, 2), 0, 3))
    trend = scaled(added(active(linear(g, 2), 3, 2), constant(g)), g)
    return added(scaled(multiplied(hour, added(active(rbf(g, 1), 0), trend)), g), active(rational(g, 3), 3, 1, 0))


@dataclass(frozen=True)
class KernelCase:
    name: str
    make: Callable[[torch.Generator], Pair]
    valid: bool = True
    """Whether it is positive definite in FEATURES dimensions, so that a posterior can be built."""
    smooth: bool = True
    """Whether it is analytic in x."""

    def __repr__(self) -> str:
        return self.name

    def build(self, seed: int) -> Pair:
        return self.make(generator(seed))


EVERY_KERNEL = [
    KernelCase("rbf", rbf),
    KernelCase("rbf shared", lambda g: rbf(g, 1)),
    KernelCase("matern32", matern32, smooth=False),
    KernelCase("matern32 shared", lambda g: matern32(g, 1), smooth=False),
    KernelCase("matern52", matern52, smooth=False),
    KernelCase("rational quadratic", rational),
    KernelCase("cosine", cosine, valid=False),
    KernelCase("cosine of one feature", lambda g: added(active(cosine(g, 1), 2), scaled(rbf(g), g))),
    KernelCase("periodic", periodic),
    KernelCase("periodic shared", lambda g: periodic(g, 1)),
    KernelCase("linear", linear),
    KernelCase("linear shared", lambda g: linear(g, 1)),
    KernelCase("polynomial", polynomial),
    KernelCase("constant", constant),
    KernelCase("scaled rbf", lambda g: scaled(rbf(g), g)),
    KernelCase("active matern52", lambda g: active(matern52(g, 2), 2, 0), smooth=False),
    KernelCase("rbf + linear", lambda g: added(rbf(g), linear(g))),
    KernelCase("rbf * periodic * rational", lambda g: multiplied(rbf(g), periodic(g, 1), rational(g))),
    KernelCase("deep nesting", deep, smooth=False),
    KernelCase("autograd", wrapped),
    KernelCase(
        "autograd inside a product", lambda g: added(multiplied(active(wrapped(g, 2), 0, 1), rbf(g)), linear(g))
    ),
    KernelCase("matern 7/2 by Bessel functions", matern_any, smooth=False),
    KernelCase("radial periodic", radial_periodic, valid=False),
    KernelCase("radial periodic of one feature", lambda g: added(active(radial_periodic(g, 1), 2), scaled(rbf(g), g))),
    KernelCase("squared sum", lambda g: raised(added(rbf(g), linear(g)), 2)),
    KernelCase("rational quadratic to 1.3", lambda g: raised(rational(g), 1.3)),
    KernelCase("warped matern52", bent, smooth=False),
    KernelCase("rbf to 1", lambda g: raised(rbf(g), 1)),
]
EVERY_POSTERIOR = [case for case in EVERY_KERNEL if case.valid]
EVERY_LINK = [Identity(), Exp(), Probit(), Sigmoid(), Softplus(), Square()]


def fitted(case: KernelCase, seed: int, n: int = 7, noise: float = 0.2) -> tuple[Posterior, DensePosterior]:
    """The same regression twice: as a Posterior and as naive dense algebra."""
    g = generator(seed + 1)
    kernel, naive = case.build(seed)
    dense = fit(naive, normal(g, n, FEATURES), normal(g, n), noise)
    return Posterior(kernel, dense.Z, dense.beta, dense.A), dense


def rows(seed: int, b: int = 3) -> tuple[Tensor, Tensor]:
    """Inputs and a baseline for each."""
    g = generator(seed + 2)
    return normal(g, b, FEATURES), normal(g, b, FEATURES)


def pulled(section: Section, W: Tensor, features: int = FEATURES) -> Tensor:
    """The pull-back of weights given as they are: one factor for each channel."""
    each = torch.eye(W.shape[1], dtype=W.dtype)[None, :, :, None]
    form = section.pull_back(Weights.varying(each.expand(W.shape[0], -1, -1, W.shape[2]), W))
    return form.evaluate(W.new_empty(len(W), W.shape[1], features))
