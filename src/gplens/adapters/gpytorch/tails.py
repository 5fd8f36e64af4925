"""P(y > t | f) as a function of f, from the distribution that a host's likelihood has for a latent value (MATH 2)."""

from collections.abc import Callable
from functools import partial
from typing import Any, final

import torch
from torch import Tensor
from torch.distributions import Laplace, NegativeBinomial, Poisson

from gplens.adapters.gpytorch.beta_tail import tail_in_count, tail_in_odds
from gplens.links import LaplaceTail, Link
from gplens.links.moments.derivatives import differentiate

Given = Callable[[Tensor], Any]
"""f -> the distribution of y given f."""
Tail = Callable[[Tensor], Tensor]
"""f -> P(y > t | f)."""
COUNTS_AT_ONCE = 16
"""The number of probabilities of counts whose autograd graph is held at once."""


def tail_probability(given: Given, t: float) -> tuple[Tail, tuple[Link, ...]]:
    """f -> P(y > t | f), from the cdf or from the probabilities of counts up to t; and links that may equal it."""
    origin = torch.zeros(1, dtype=torch.float64)
    example = given(origin)
    if example.support.is_discrete:
        return _beyond_count(given, example, t), ()
    try:
        example.cdf(origin + t)
    except NotImplementedError:
        raise ValueError(
            f"expected a distribution with a cdf for Exceeds({t:g}), got {type(example).__name__}, for which torch has "
            "none; write P(y > t|f) as a function g of the latent value and pass target=gplens.targets.Custom(g)."
        ) from None
    candidates = (LaplaceTail(t, float(example.scale)),) if isinstance(example, Laplace) else ()
    return lambda f: 1 - given(f).cdf(torch.full_like(f, t)), candidates


def _beyond_count(given: Given, example: Any, t: float) -> Tail:
    """f -> P(y > t | f) of counts 0, 1, ...: closed forms, or one minus the probabilities of the counts up to t."""
    if t < 0:
        return lambda f: f * 0 + 1
    count = float(int(t) + 1)
    if isinstance(example, Poisson):
        return lambda f: torch.special.gammainc(torch.full_like(f, count), given(f).rate)
    if type(example).log_prob is NegativeBinomial.log_prob:
        b, p = _depends_on_latent(given)
        if b and not p:
            return lambda f: tail_in_count(count, given(f).total_count, float(example.probs.detach()))
        if p and not b:
            return lambda f: tail_in_odds(count, float(example.total_count.detach()), _log_odds(given(f).probs))
    counts = [i for i in range(int(count)) if _in_support(example, i)]
    if counts and not _in_support(example, int(count)):
        return torch.zeros_like  # no count is larger; one minus all probabilities would be rounding
    chunks = [counts[i : i + COUNTS_AT_ONCE] for i in range(0, len(counts), COUNTS_AT_ONCE)]

    def probability(f: Tensor, of: list[int]) -> Tensor:
        y = given(f)
        return sum((y.log_prob(torch.full_like(f, float(i))).exp() for i in of), torch.zeros_like(f))

    return lambda f: 1 - _Summed.apply(f, [partial(probability, of=chunk) for chunk in chunks], 0)


def _in_support(y: Any, count: int) -> bool:
    return bool(y.support.check(torch.full_like(y.mean, float(count))).all())


def _depends_on_latent(given: Given) -> tuple[bool, bool]:
    """Whether the number of failures of a negative binomial, and its probability, change with f."""
    with torch.no_grad():
        y = given(torch.linspace(-3, 3, 7, dtype=torch.float64))
    count, probability = (bool((part != part[0]).any()) for part in (y.total_count, y.probs))
    return count, probability


def _log_odds(p: Tensor) -> Tensor:
    return torch.log(p) - torch.log1p(-p)


@final
class _Summed(torch.autograd.Function):
    """A sum of many functions and its derivatives, with the graph of one function at a time."""

    @staticmethod
    def forward(ctx: Any, f: Tensor, functions: list[Tail], order: int) -> Tensor:
        ctx.save_for_backward(f)
        ctx.functions, ctx.order = functions, order
        total = torch.zeros_like(f)
        for function in functions:
            total += differentiate(function, f, order=order)[order]
        return total

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None, None]:
        (f,) = ctx.saved_tensors
        return grad[0] * _Summed.apply(f, ctx.functions, ctx.order + 1), None, None
