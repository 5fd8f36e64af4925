"""P(y > t | f) from the distribution that a host's likelihood gives for a latent value."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Laplace, NegativeBinomial, Poisson

from gplens import links
from gplens.adapters.gpytorch.recognise import recognise
from gplens.expectations.elementwise import ExpectedLink


def tail_of(given: Callable[[Tensor], Any]) -> Callable[[float], ExpectedLink]:
    """t -> P(y > t): from the distribution's cdf, or, for counts, from its probabilities up to t."""

    def exceeds(t: float) -> ExpectedLink:
        example = given(torch.zeros(1, dtype=torch.float64))
        if example.support.is_discrete:
            return ExpectedLink((recognise(lambda f: _beyond_count(given(f), t)),))
        try:
            example.cdf(torch.zeros(1, dtype=torch.float64) + t)
        except NotImplementedError:
            raise ValueError(
                f"torch has no cdf of {type(example).__name__}, which Exceeds({t:g}) needs. Write P(y > t|f) as a "
                "function g of the latent value and pass target=gplens.targets.Custom(g)."
            ) from None
        also = (links.LaplaceTail(t, float(example.scale)),) if isinstance(example, Laplace) else ()
        return ExpectedLink((recognise(lambda f: 1 - given(f).cdf(torch.full_like(f, t)), also),))

    return exceeds


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


def _probability(y: Any, count: Tensor, before: Tensor) -> Tensor:
    """P(y = count), where the one of count - 1 is known."""
    if type(y).log_prob is not NegativeBinomial.log_prob:
        return y.log_prob(count).exp()
    # As a product, since torch's trigamma, which is in the curvature of log_prob, is off by 1e-10.
    first = (y.total_count * torch.log1p(-y.probs)).exp()
    return torch.where(count == 0, first, before * y.probs * (y.total_count + count - 1) / count.clamp(min=1))
