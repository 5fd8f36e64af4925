"""Every kernel and every link, by name: joining `KERNELS` or `LINKS` is joining the contract.

`KERNELS["matern52"]` is one case and `EVERY_KERNEL` all of them; `EVERY_POSTERIOR` leaves out kernels that are not
positive definite in four dimensions. `LINKS["Sigmoid"]` and `EVERY_LINK` likewise.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor

from conformance.kernel_formulas import (
    FEATURES,
    Pair,
    active,
    added,
    bent,
    constant,
    cosine,
    deep,
    generator,
    linear,
    matern32,
    matern52,
    matern_any,
    multiplied,
    normal,
    periodic,
    polynomial,
    radial_periodic,
    raised,
    rational,
    rbf,
    scaled,
    squared,
    uniform,
    wrapped,
)
from gplens import Posterior, links
from gplens.lines.line import Section
from gplens.lines.pull_back import Weights
from gplens.links import Link
from oracles import gaussian_moments, pair_moments
from oracles.dense import MOMENTS, DensePosterior, fit

__all__ = [
    "EVERY_KERNEL",
    "EVERY_LINK",
    "EVERY_POSTERIOR",
    "FEATURES",
    "KERNELS",
    "LINKS",
    "KernelCase",
    "LinkCase",
    "Pair",
    "active",
    "added",
    "constant",
    "fitted",
    "generator",
    "linear",
    "matern52",
    "multiplied",
    "normal",
    "periodic",
    "pulled",
    "rbf",
    "rows",
    "seeds",
    "squared",
    "uniform",
    "wrapped",
]

seeds = st.integers(0, 2**31 - 1)


@dataclass(frozen=True)
class KernelCase:
    """A family of kernels with random hyper-parameters, and what the tests may ask of it."""

    name: str
    make: Callable[[torch.Generator], Pair]
    valid: bool = True
    """Whether it is positive definite in FEATURES dimensions, so that a posterior can be built."""
    smooth: bool = True
    """Whether it is analytic in x."""

    def __repr__(self) -> str:
        return self.name

    def build(self, seed: int) -> Pair:
        """The kernel and its formula, with the hyper-parameters of this seed."""
        return self.make(generator(seed))


KERNELS = {
    case.name: case
    for case in (
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
        KernelCase(
            "radial periodic of one feature", lambda g: added(active(radial_periodic(g, 1), 2), scaled(rbf(g), g))
        ),
        KernelCase("squared sum", lambda g: raised(added(rbf(g), linear(g)), 2)),
        KernelCase("rational quadratic to 1.3", lambda g: raised(rational(g), 1.3)),
        KernelCase("warped matern52", bent, smooth=False),
        KernelCase("rbf to 1", lambda g: raised(rbf(g), 1)),
    )
}
EVERY_KERNEL = list(KERNELS.values())
EVERY_POSTERIOR = [case for case in EVERY_KERNEL if case.valid]


@dataclass(frozen=True)
class LinkCase:
    """A link and what its moments are compared with."""

    name: str
    link: Link
    moments: tuple[gaussian_moments.Function, ...] | None = None
    """g, g', g'' in mpmath; None for a link whose moments are approximations or those of another link."""
    pairs: tuple[pair_moments.Function, ...] | None = None
    """g', g'', g''' in numpy; None for a link without pair moments, or with those of another link."""
    width: float = 4.0
    """The largest panel, in f, over which 16 Gauss-Legendre nodes integrate `pairs` to rounding."""

    def __repr__(self) -> str:
        return self.name


LINKS = {
    case.name: case
    for case in (
        LinkCase("Identity", links.Identity(), gaussian_moments.IDENTITY, pair_moments.IDENTITY),
        LinkCase("Exp", links.Exp(), gaussian_moments.EXP, pair_moments.EXP),
        LinkCase("Probit", links.Probit(), gaussian_moments.PROBIT, pair_moments.PROBIT, 2.0),
        LinkCase("Sigmoid", links.Sigmoid(), gaussian_moments.SIGMOID, pair_moments.SIGMOID),
        LinkCase("Softplus", links.Softplus(), gaussian_moments.SOFTPLUS, pair_moments.SOFTPLUS),
        LinkCase("Square", links.Square(), gaussian_moments.SQUARE, pair_moments.SQUARE),
        LinkCase(
            "Probit(1.5, 0.25)",
            links.Probit(shift=1.5, noise=0.25),
            gaussian_moments.EXCEEDS,
            pair_moments.EXCEEDS,
            1.0,
        ),
        LinkCase(
            "ProbitMixture",
            links.ProbitMixture((1.5, -0.5), (0.5, 4.0)),
            gaussian_moments.MIXTURE,
            pair_moments.MIXTURE,
            1.0,
        ),
        LinkCase("LaplaceTail", links.LaplaceTail(shift=1.5, scale=0.7), gaussian_moments.LAPLACE),
        LinkCase("SigmoidTaylor", links.SigmoidTaylor()),
        LinkCase("Affine(Exp)", links.Affine(links.Exp(), 2.0, 1.0)),
        LinkCase("Quadrature(tanh)", links.Quadrature(torch.tanh), None, pair_moments.TANH, 2.0),
        LinkCase("Quadrature(sin)", links.Quadrature(torch.sin), None, pair_moments.SIN),
    )
}
EVERY_LINK = [case.link for name, case in LINKS.items() if name in MOMENTS]
"""The links whose expectations `oracles.dense` knows in closed form, so that whole explanations are compared."""


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
