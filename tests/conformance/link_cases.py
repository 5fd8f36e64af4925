"""Every link, by name, and everything that it is compared with.

`LINKS["Sigmoid"]` is one case, and `EVERY_LINK` has the links of those with `g` and `expected`.

A link in `LINKS` is part of the tests of each thing that its case states: `moments` of shapes, dtypes and values,
`pairs` of pair moments, `g` with `expected` of whole explanations with every kernel, their identities and error bars.
Not included are the tests of memory, the adapters that translate a host's likelihood into it, and facts of one link,
such as symmetries and refusals: these are tests of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from gplens import links
from gplens.links import Link
from oracles import gaussian_moments, pair_moments
from oracles.dense import expectation, phi, softplus


@dataclass(frozen=True)
class LinkCase:
    """A link and what it is compared with; nothing of this is kept elsewhere."""

    name: str
    link: Link
    moments: tuple[gaussian_moments.Function, ...] | None = None
    """g, g', g'' in mpmath; None for a link whose moments are approximations or those of another link.

    Its panels end at `SPLITS` in oracles/gaussian_moments.py, within 20 of zero. Where g oscillates, or changes farther
    out, the oracle itself is wrong at large variances until there are splits there too.
    """
    pairs: tuple[pair_moments.Function, ...] | None = None
    """g', g'', g''' in numpy; None for a link without pair moments, or with those of another link."""
    width: float = 4.0
    """The largest panel, in f, over which 16 Gauss-Legendre nodes integrate `pairs` to rounding.

    It grows with the distance of the nearest pole of g from the real line: 4 for poles at +-i pi (sigmoid), 2 for poles
    at +-i pi/2 (tanh). With panels that are too long the oracle itself is wrong.
    """
    g: Callable[[Tensor], Tensor] | None = None
    """g in torch. With it and `expected`, the link is part of EVERY_LINK."""
    expected: Callable[[Tensor, Tensor], Tensor] | None = None
    """E g(f), f ~ N(m, v), in torch; `oracles.dense.expectation(g)` if there is no closed form."""
    closed: bool = False
    """Whether the moments are closed forms that autograd can differentiate."""
    bounded: bool = False
    """Whether g' is bounded, so that pair moments are compared at variances up to 400 too."""

    def __repr__(self) -> str:
        return self.name


LINKS = {
    case.name: case
    for case in (
        LinkCase(
            "Identity",
            links.Identity(),
            gaussian_moments.IDENTITY,
            pair_moments.IDENTITY,
            g=lambda f: f,
            expected=lambda m, v: m,
            closed=True,
        ),
        LinkCase(
            "Exp",
            links.Exp(),
            gaussian_moments.EXP,
            pair_moments.EXP,
            g=torch.exp,
            expected=lambda m, v: torch.exp(m + v / 2),
            closed=True,
        ),
        LinkCase(
            "Square",
            links.Square(),
            gaussian_moments.SQUARE,
            pair_moments.SQUARE,
            g=lambda f: f**2,
            expected=lambda m, v: m**2 + v,
            closed=True,
        ),
        LinkCase(
            "Probit",
            links.Probit(),
            gaussian_moments.PROBIT,
            pair_moments.PROBIT,
            width=2.0,
            g=phi,
            expected=lambda m, v: phi(m / torch.sqrt(1 + v)),
            closed=True,
            bounded=True,
        ),
        LinkCase(
            "Sigmoid",
            links.Sigmoid(),
            gaussian_moments.SIGMOID,
            pair_moments.SIGMOID,
            g=torch.sigmoid,
            expected=expectation(torch.sigmoid),
            bounded=True,
        ),
        LinkCase(
            "Softplus",
            links.Softplus(),
            gaussian_moments.SOFTPLUS,
            pair_moments.SOFTPLUS,
            g=softplus,
            expected=expectation(softplus),
            bounded=True,
        ),
        LinkCase(
            "Probit(1.5, 0.25)",
            links.Probit(shift=1.5, noise=0.25),
            gaussian_moments.EXCEEDS,
            pair_moments.EXCEEDS,
            width=1.0,
            closed=True,
            bounded=True,
        ),
        LinkCase(
            "ProbitMixture",
            links.ProbitMixture((1.5, -0.5), (0.5, 4.0)),
            gaussian_moments.MIXTURE,
            pair_moments.MIXTURE,
            width=1.0,
        ),
        LinkCase("LaplaceTail", links.LaplaceTail(shift=1.5, scale=0.7), gaussian_moments.LAPLACE, closed=True),
        LinkCase("SigmoidTaylor", links.SigmoidTaylor()),
        LinkCase("Affine(Exp)", links.Affine(links.Exp(), 2.0, 1.0)),
        LinkCase("Quadrature(tanh)", links.Quadrature(torch.tanh), None, pair_moments.TANH, width=2.0),
        LinkCase("Quadrature(sin)", links.Quadrature(torch.sin), None, pair_moments.SIN),
    )
}
G = {name: case.g for name, case in LINKS.items() if case.g is not None}
"""g in torch by the name of the link."""
EXPECTED = {name: case.expected for name, case in LINKS.items() if case.expected is not None}
"""E g(f) in torch by the name of the link."""
EVERY_LINK = [LINKS[name].link for name in EXPECTED]
"""The links whose whole explanations are compared, with every kernel."""
