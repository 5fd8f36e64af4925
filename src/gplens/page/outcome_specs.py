"""The distribution of an observation given its latent value, recognised by its tails (MATH 2.11)."""

from collections.abc import Callable
from math import exp, log, log1p
from typing import Any

import torch
from jaxtyping import Float
from scipy import optimize, special
from torch import Tensor

from gplens.expectations.expectation import ExpectedLink
from gplens.likelihood import Likelihood
from gplens.links import Identity, Link, Probit, Sigmoid
from gplens.links.laplace_tail import LaplaceTail

THRESHOLDS = (0.0, 3.0, 17.0)
"""Where the tails of a likelihood are compared with those of a distribution."""
PROBES = torch.linspace(-2.0, 3.5, 12, dtype=torch.float64)
CLASSES = "y is a class, whose probability is the prediction itself"
UNKNOWN = "the page cannot evaluate the tails of the likelihood"
Tail = Callable[[Float[Tensor, " k"], float], Float[Tensor, " k"]]


def outcome_spec(likelihood: Likelihood | None) -> dict[str, Any]:
    """`outcome` for P(y > t) and intervals of y; or None, with the reason in `no_outcome` if there is a likelihood."""
    if likelihood is None:
        return {"outcome": None, "no_outcome": None}
    if not isinstance(likelihood.response, ExpectedLink) or isinstance(likelihood.response.links[0], Probit | Sigmoid):
        return {"outcome": None, "no_outcome": CLASSES}
    if likelihood.exceeds is None:
        return {"outcome": None, "no_outcome": "the model was explained through a link, without its likelihood"}
    try:
        outcome = _outcome(likelihood.exceeds, likelihood.response.links)
    except ValueError as reason:  # a distribution without a cdf, such as Student's in torch
        return {"outcome": None, "no_outcome": str(reason).partition(";")[0]}
    return {"outcome": outcome, "no_outcome": None if outcome else UNKNOWN}


def _outcome(exceeds: Callable[[float], Any], links: tuple[Link, ...]) -> dict[str, Any] | None:
    tails = [exceeds(t) for t in THRESHOLDS]
    if not all(isinstance(tail, ExpectedLink) for tail in tails):
        return None
    given: list[list[Link]] = [list(tail.links) for tail in tails]
    link, *others = links
    if all(isinstance(g, Probit) and g.shift == 0 for g in given[0]) and isinstance(link, Identity):
        return {"type": "gaussian", "noise": [g.noise for g in given[0] if isinstance(g, Probit)]}
    if others or any(len(tail) > 1 for tail in given):
        return None
    if isinstance(link, Identity):
        return _laplace(given[0][0])
    return _count([tail[0](PROBES) for tail in given], link(PROBES))


def _laplace(tail: Link) -> dict[str, Any] | None:
    return {"type": "laplace", "scale": float(tail.scale)} if isinstance(tail, LaplaceTail) else None


def _count(values: list[Float[Tensor, " k"]], mean: Float[Tensor, " k"]) -> dict[str, Any] | None:
    """A Poisson count, or a negative binomial one, whose number of failures is determined from P(y > 0)."""
    if not bool((mean > 0).all()):
        return None
    if _same(values, lambda _, t: torch.special.gammainc(torch.full_like(mean, t + 1), mean)):
        return {"type": "poisson"}
    largest, zero = float(mean[-1]), float(1 - values[0][-1])

    def excess(log_r: float) -> float:
        r = exp(log_r)
        return r * log1p(largest / r) + log(zero)  # P(y = 0) = (1 + mean / r)^-r

    if not 0 < zero < 1 or excess(-12.0) * excess(20.0) > 0:
        return None
    root: Any = optimize.brentq(excess, -12.0, 20.0, xtol=1e-13)
    r = exp(root)
    p = (mean / (mean + r)).numpy()
    same = _same(values, lambda _, t: torch.from_numpy(special.betainc(t + 1, r, p)))
    return {"type": "negative_binomial", "failures": r} if same else None


def _same(values: list[Float[Tensor, " k"]], tail: Tail) -> bool:
    """Whether all tails equal those of a distribution."""
    pairs = zip(values, THRESHOLDS, strict=True)
    return all(torch.allclose(value, tail(PROBES, t), rtol=1e-6, atol=1e-9) for value, t in pairs)
