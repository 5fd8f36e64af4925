"""E log p(y|f) of each row with its partials in m and v, f ~ N(m, v): what training maximises (6.5), (6.7)."""

from dataclasses import dataclass
from functools import singledispatch
from math import log, pi
from typing import final

import numpy as np
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import BernoulliLikelihood, Likelihood, SoftmaxLikelihood
from jaxtyping import Float
from linear_operator.operators import DiagLinearOperator
from torch import Tensor

NODES, WEIGHTS = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(20))
"""Gauss-Hermite nodes for one latent function, as many as GPyTorch takes."""
DRAWS = 8
"""Draws of the latent values of each row for the softmax, four and their mirror images, new ones in every step."""


@final
@dataclass(frozen=True)
class Expected:
    """E log p(y|f), its derivative E d log p / df in m, and 1/2 E d2 log p / df2 in v  (2.1)."""

    value: Float[Tensor, " b"]
    by_m: Float[Tensor, "c b"]
    by_v: Float[Tensor, "c b"]

    def linear(self, m: Float[Tensor, "c b"], v: Float[Tensor, "c b"]) -> Float[Tensor, " b"]:
        """The value, with these partials as its gradient in m and v."""
        slopes = self.by_m * (m - m.detach()) + self.by_v * (v - v.detach())  # zero
        return self.value + slopes.sum(0)


@singledispatch
def expected_partials(
    likelihood: Likelihood, y: Float[Tensor, " b"], m: Float[Tensor, "c b"], v: Float[Tensor, "c b"], z: Tensor
) -> Expected:
    """By autograd through the likelihood's own expectation. `z` are standard normal draws, which only softmax takes."""
    m, v = m.detach().requires_grad_(), v.detach().requires_grad_()
    with torch.enable_grad():
        value = likelihood.expected_log_prob(y, MultivariateNormal(m[0], DiagLinearOperator(v[0])))
        by_m, by_v = torch.autograd.grad(value.sum(), (m, v))
    return Expected(value.detach(), by_m, by_v)


@expected_partials.register
@torch.no_grad()
def _(
    likelihood: BernoulliLikelihood, y: Float[Tensor, " b"], m: Float[Tensor, "c b"], v: Float[Tensor, "c b"], z: Tensor
) -> Expected:
    """Probit: with s = 2y - 1 and r = phi(f)/Phi(s f), the derivatives of log Phi(s f) are s r and -r (r + s f)."""
    sign = (2 * y - 1)[:, None]
    f = sign * (m[0, :, None] + v[0, :, None].sqrt() * NODES)  # s f
    log_p = torch.special.log_ndtr(f)
    r = (-f.square() / 2 - log_p - log(2 * pi) / 2).exp()
    w = WEIGHTS / WEIGHTS.sum()
    return Expected(log_p @ w, ((sign * r) @ w)[None], (-(r * (r + f)) @ w)[None] / 2)


@expected_partials.register
@torch.no_grad()
def _(
    likelihood: SoftmaxLikelihood, y: Float[Tensor, " b"], m: Float[Tensor, "c b"], v: Float[Tensor, "c b"], z: Tensor
) -> Expected:
    """By the draws m + sqrt(v) z and their mirror images."""
    deviation = v.sqrt() * z
    log_p, label = torch.log_softmax(m + torch.cat([deviation, -deviation]), dim=1), y.long()[None]
    value = log_p.gather(1, label.expand(len(log_p), 1, -1)).mean(0)[0]
    p = log_p.exp_()
    by_m = torch.zeros_like(m).scatter_(0, label, 1) - p.mean(0)
    return Expected(value, by_m, p.square().sub_(p).mean(0) / 2)


def expected_log_prob(
    likelihood: Likelihood,
    y: Float[Tensor, " b"],
    m: Float[Tensor, "c b"],
    v: Float[Tensor, "c b"],
    generator: torch.Generator,
) -> Float[Tensor, " b"]:
    """E log p(y|f) of each row, differentiable in m, v and the likelihood's parameters; new draws for the softmax."""
    if isinstance(likelihood, SoftmaxLikelihood):
        z = torch.randn(DRAWS // 2, *m.shape, generator=generator, dtype=m.dtype)
        return expected_partials(likelihood, y, m.detach(), v.detach(), z).linear(m, v)
    return likelihood.expected_log_prob(y, MultivariateNormal(m[0], DiagLinearOperator(v[0])))
