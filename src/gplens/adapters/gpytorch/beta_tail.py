"""The regularised incomplete beta function I_p(a, b), the tail of a negative binomial, with derivatives in b or p.

torch has neither. Values are scipy's. As a function of b, with u = sigmoid(l) and D = psi(a + b) - psi(b),

    I = exp(D-terms) int_{-inf}^{logit p} exp(a log u + b log(1 - u)) dl,
    d log I/db = E[log(1 - u) | u < p] + D,   d^2 log I/db^2 = Var[log(1 - u) | u < p] + D',  ...      (2.11a)

The integrand is log-concave: Gauss-Legendre on panels from p to where it has fallen by exp(-40) or more. Where I > 1/2,
1 - I takes its place: d log I/db is a difference of the mean of log(1 - u) on one side of p and of its mean on both,
which cancels if the side has most of the mass. For small b that may be the side where the density is low.
"""

from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import betainc, betaincc, betaln, expit, log_expit
from torch import Tensor

Array = NDArray[np.float64]

NEAR, PANELS, NODES = 40.0, (8, 4), 16
"""Eight panels for a distance of 40 from p, four for the rest, and their nodes. The poles at l = i pi are 1.26 half
panels away or more, which leaves 2.9^-32 = 2e-15; beyond 40 the integrand is an exponential."""
DROP = 40.0
"""exp(-40) is 4e-18."""
SHIFT = 16
"""Stirling's series is used for b + 16 and more, where its next term is 7e-15."""
BLOCK = 4096
"""Elements at a time: 5 MB for each of a few tables of nodes."""


def tail_in_count(a: float, b: Tensor, p: float) -> Tensor:
    """I_p(a, b), differentiable three times in b."""
    return _InCount.apply(b, CountDerivatives(a, b.detach().numpy(), p), 0)


def tail_in_odds(a: float, b: float, log_odds: Tensor) -> Tensor:
    """I_p(a, b), differentiable in log(p / (1 - p)) as often as need be."""
    return _InOdds.apply(log_odds, a, b)


@final
class _InCount(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, b: Tensor, derivatives: "CountDerivatives", order: int) -> Tensor:
        ctx.save_for_backward(b)
        ctx.derivatives, ctx.order = derivatives, order
        return torch.as_tensor(derivatives.value if order == 0 else derivatives.by_order[order - 1])

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None, None]:
        (b,) = ctx.saved_tensors
        return grad[0] * _InCount.apply(b, ctx.derivatives, ctx.order + 1), None, None


@final
class _InOdds(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, log_odds: Tensor, a: float, b: float) -> Tensor:
        ctx.save_for_backward(log_odds)
        ctx.count = a, b
        return torch.as_tensor(betainc(a, b, expit(log_odds.detach().numpy())))

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None, None]:
        (log_odds,), (a, b) = ctx.saved_tensors, ctx.count
        log_sigmoid = torch.nn.functional.logsigmoid
        slope = torch.exp(a * log_sigmoid(log_odds) + b * log_sigmoid(-log_odds) - float(betaln(a, b)))
        return grad[0] * slope, None, None


@final
class CountDerivatives:
    """I_p(a, b) for an array of b >= 0, and its first three derivatives in b."""

    def __init__(self, a: float, b: Array, p: float) -> None:
        self.a, self.p, self.b = a, p, np.maximum(b, np.finfo(np.float64).tiny)  # at b = 0 the limit, which is zero

    @cached_property
    def value(self) -> Array:
        return betainc(self.a, self.b, self.p)

    @cached_property
    def by_order(self) -> Array:
        """The derivatives, first axis."""
        flat = self.b.reshape(-1)
        parts = [_derivatives(self.a, block, self.p) for block in np.split(flat, range(BLOCK, len(flat), BLOCK))]
        return np.concatenate(parts, axis=1).reshape(3, *self.b.shape)


def _derivatives(a: float, b: Array, p: float) -> Array:
    """(2.11a), through the cumulants of log(1 - u) on one side of p."""
    cut = float(np.log(p) - np.log1p(-p))
    tail, rest = betainc(a, b, p), betaincc(a, b, p)
    below = tail <= rest
    l, w = _nodes(cut, np.where(below, *_ends(a, b, cut)))  # noqa: E741
    log_u = log_expit(l)
    log_rest = log_u - l
    exponent = a * log_u + b[:, None] * log_rest
    w = w * np.exp(exponent - exponent.max(1, keepdims=True))
    w /= w.sum(1, keepdims=True)
    mean = (w * log_rest).sum(1)
    centred = log_rest - mean[:, None]
    D = _polygamma_differences(a, b)
    first, second, third = mean + D[0], (w * centred**2).sum(1) + D[1], (w * centred**3).sum(1) + D[2]
    side = np.where(below, tail, -rest)
    return side * np.stack([first, first**2 + second, first**3 + 3 * first * second + third])


def _ends(a: float, b: Array, cut: float) -> tuple[Array, Array]:
    """Where the integrand has fallen by DROP left and right of the cut: Newton from outside, where it is monotone."""
    level = a * log_expit(cut) + b * log_expit(-cut) - DROP
    left, right = level / a, -level / b
    for _ in range(12):
        left = left + (level - _height(a, b, left)) / np.maximum(_slope(a, b, left), np.finfo(np.float64).tiny)
        right = right + (level - _height(a, b, right)) / np.minimum(_slope(a, b, right), -np.finfo(np.float64).tiny)
    return left, right


def _height(a: float, b: Array, l: Array) -> Array:  # noqa: E741
    return a * log_expit(l) + b * log_expit(-l)


def _slope(a: float, b: Array, l: Array) -> Array:  # noqa: E741
    return a * expit(-l) - b * expit(l)


def _nodes(cut: float, end: Array) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights, up to a factor, on panels that are shorter near the cut."""
    t, w = np.polynomial.legendre.leggauss(NODES)
    middle = cut + np.clip(end - cut, -NEAR, NEAR)
    nodes, weights = [], []
    for start, stop, panels in ((np.full_like(end, cut), middle, PANELS[0]), (middle, end, PANELS[1])):
        unit = ((np.arange(panels)[:, None] + (t + 1) / 2) / panels).reshape(-1)
        nodes.append(start[:, None] + (stop - start)[:, None] * unit)
        weights.append(np.abs(stop - start)[:, None] * np.tile(w, panels) / panels)
    return np.concatenate(nodes, axis=1), np.concatenate(weights, axis=1)


def _polygamma_differences(a: float, b: Array) -> Array:
    """D = psi(a + b) - psi(b) and its two derivatives, without cancellation where a is small beside b."""
    D = np.zeros((3, len(b)))
    for j in range(SHIFT):
        x, y = b + j, a + b + j
        D += np.stack([1 / x - 1 / y, 1 / y**2 - 1 / x**2, 2 / x**3 - 2 / y**3])
    x = b + SHIFT
    q = np.log1p(a / x)

    def d(n: int) -> Array:
        """x^-n - (a + x)^-n."""
        return -np.expm1(-n * q) / x**n

    D[0] += q + d(1) / 2 + d(2) / 12 - d(4) / 120 + d(6) / 252 - d(8) / 240
    D[1] += -d(1) - d(2) / 2 - d(3) / 6 + d(5) / 30 - d(7) / 42 + d(9) / 30
    D[2] += d(2) + d(3) + d(4) / 2 - d(6) / 6 + d(8) / 6 - 3 * d(10) / 10
    return D
