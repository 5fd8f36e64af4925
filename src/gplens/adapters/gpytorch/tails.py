"""P(y > t | f) as a function of f, from the distribution that a host's likelihood has for a latent value (MATH 2)."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Laplace, NegativeBinomial, Poisson

from gplens.links import LaplaceTail, Link

Given = Callable[[Tensor], Any]
"""f -> the distribution of y given f."""


def tail_probability(given: Given, t: float) -> tuple[Callable[[Tensor], Tensor], tuple[Link, ...]]:
    """f -> P(y > t | f), from the cdf, or from the probabilities of counts up to t; and links that it may be."""
    origin = torch.zeros(1, dtype=torch.float64)
    example = given(origin)
    if example.support.is_discrete:
        return lambda f: _beyond_count(given(f), t), ()
    try:
        example.cdf(origin + t)
    except NotImplementedError:
        raise ValueError(
            f"expected a distribution with a cdf for Exceeds({t:g}), got {type(example).__name__}, for which torch has "
            "none; write P(y > t|f) as a function g of the latent value and pass target=gplens.targets.Custom(g)."
        ) from None
    candidates = (LaplaceTail(t, float(example.scale)),) if isinstance(example, Laplace) else ()
    return lambda f: 1 - given(f).cdf(torch.full_like(f, t)), candidates


def _beyond_count(y: Any, t: float) -> Tensor:
    """1 - sum of P(y = i) for i = 0, 1, ... up to t, as far as the support goes; for Poisson in closed form."""
    if isinstance(y, Poisson):
        return torch.special.gammainc(torch.full_like(y.rate, float(int(t) + 1)), y.rate) if t >= 0 else y.rate * 0 + 1
    total, p = torch.zeros_like(y.mean), torch.zeros_like(y.mean)
    for i in range(int(t) + 1) if t >= 0 else ():
        count = torch.full_like(total, float(i))
        if not bool(y.support.check(count).all()):
            break
        p = _probability(y, count, p)
        total = total + p
    return 1 - total


def _probability(y: Any, count: Tensor, previous: Tensor) -> Tensor:
    """P(y = count), given P(y = count - 1)."""
    if type(y).log_prob is not NegativeBinomial.log_prob:
        return y.log_prob(count).exp()
    # As a product, since torch's trigamma, which is in the curvature of log_prob, is off by 1e-10.
    first = (y.total_count * torch.log1p(-y.probs)).exp()
    return torch.where(count == 0, first, previous * y.probs * (y.total_count + count - 1) / count.clamp(min=1))
