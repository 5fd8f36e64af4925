"""Every kernel, by name, and the posteriors that are made of them; the links of `link_cases` are exported too.

`KERNELS["matern52"]` is one case and `EVERY_KERNEL` all of them; `EVERY_POSTERIOR` leaves out kernels that are not
positive definite in four dimensions.

A kernel in `KERNELS` is part of the tests of values, pull-backs, derivatives between lines, path lengths, `smooth` and
the number of features, and, if it is valid, of explanations with every link, their identities and their error bars.
Not included are the tests of invariance under a shift (`INVARIANT` in test_kernel_values.py), the adapters that
translate a host's kernel into it, and facts of one kernel, such as limits and refusals: these are tests of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from conformance.kernel_formulas import (
    FEATURES,
    Pair,
    active,
    added,
    bent,
    bilinear,
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
    piecewise,
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
from conformance.link_cases import EVERY_LINK, EXPECTED, LINKS, G, LinkCase
from gplens import Posterior
from gplens.lines.line import Section
from gplens.lines.pull_back_weights import Weights
from oracles.dense import DensePosterior, fit

__all__ = [
    "EVERY_KERNEL",
    "EVERY_LINK",
    "EVERY_POSTERIOR",
    "EXPECTED",
    "FEATURES",
    "KERNELS",
    "LINKS",
    "PAIRS",
    "G",
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
        KernelCase("piecewise polynomial", piecewise, smooth=False),
        KernelCase("cosine", cosine, valid=False),
        KernelCase("cosine of one feature", lambda g: added(active(cosine(g, 1), 2), scaled(rbf(g), g))),
        KernelCase("periodic", periodic),
        KernelCase("periodic shared", lambda g: periodic(g, 1)),
        KernelCase("linear", linear),
        KernelCase("linear shared", lambda g: linear(g, 1)),
        KernelCase("bilinear", bilinear),
        KernelCase("polynomial", polynomial),
        KernelCase("constant", constant),
        KernelCase("scaled rbf", lambda g: scaled(rbf(g), g)),
        KernelCase("active matern52", lambda g: active(matern52(g, 2), 2, 0), smooth=False),
        KernelCase("a feature twice", lambda g: added(active(rbf(g, 3), 2, 0, 2), active(polynomial(g, 2), 1, 1))),
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
QUICK = {"Exp", "Sigmoid"}
"""Links that every kernel is paired with in `make test`; rbf and matern52 are paired with every link."""
PAIRS = [
    pytest.param(
        case,
        link,
        id=f"{type(link).__name__}-{case}",
        marks=[] if type(link).__name__ in QUICK or case.name in {"rbf", "matern52"} else pytest.mark.slow,
    )
    for case in EVERY_POSTERIOR
    for link in EVERY_LINK
]


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
