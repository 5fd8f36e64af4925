"""The overdispersion of counts relative to Poisson, from rows that the latent function has not seen (MATH 6.14)."""

from dataclasses import replace
from math import exp, log
from typing import Any

import torch
from gpytorch.likelihoods import Likelihood
from jaxtyping import Bool, Float
from scipy.optimize import minimize_scalar
from torch import Tensor

from gplens.estimators.evaluation import log_expectation
from gplens.estimators.fitting import Fit, held_out
from gplens.estimators.own_likelihoods import LogNegativeBinomial, LogPoisson
from gplens.estimators.parameters import Design
from gplens.estimators.training.expected import expected_partials
from gplens.estimators.weights import Weights

NODES = 48
"""Gauss-Hermite nodes of the density of a row."""
MOST = 2000
"""Rows that the size is estimated from."""
SIZES = 1e-2, 1e4
"""The smallest and the largest size that is tried."""
LEAST = 0.5
"""The share of its precision that a row needs from other rows: isolated rows say nothing about the noise."""
MATTERS = 0.01
"""The gain over Poisson, in nats per row, that the negative binomial needs to be chosen."""


def with_dispersion(fit: Fit, design: Design, X: Float[Tensor, "n d"], y: Float[Tensor, " n"], weights: Weights) -> Fit:
    """The same latent function with the size under which unseen rows are most probable; Poisson's where none is better.

    Rows that the fit held out for early stopping; in tables that are too small for it each row, without its own site.
    """
    held, kept = held_out(design, len(X))
    rows = (held if len(held) else kept)[:MOST]
    counts, w = y[rows], None if weights is None else weights[rows]
    with torch.no_grad():
        f: Any = fit.model(X[rows])
        m, v = f.mean, f.variance
    if not len(held):
        m, v, usable = _without_own_site(fit.likelihood, counts, m, v, w)
        m, v, counts, w = m[usable], v[usable], counts[usable], None if w is None else w[usable]
    if len(counts):
        size, gain = _size(counts, m, v, w)
    else:  # every row stands alone
        size, gain = SIZES[1], 0.0
    better = gain > MATTERS
    likelihood = LogNegativeBinomial(size) if better else LogPoisson()
    likelihood = likelihood.double().eval().requires_grad_(False)
    return replace(fit, likelihood=likelihood, summary={**fit.summary, "dispersion": 1 / size if better else 0.0})


def _without_own_site(
    likelihood: Likelihood, y: Float[Tensor, " k"], m: Float[Tensor, " k"], v: Float[Tensor, " k"], weights: Weights
) -> tuple[Float[Tensor, " k"], Float[Tensor, " k"], Bool[Tensor, " k"]]:
    """The marginals of each row from all others: its site (6.7) is taken out of them  (6.14); and where others are."""
    expected = expected_partials(likelihood, y, m[None], v[None], m[:0])
    s = (-2 * expected.by_v)[0] * (1.0 if weights is None else weights)
    linear = expected.by_m[0] * (1.0 if weights is None else weights) + s * m
    precision = 1 / v - s
    return (m / v - linear) / precision, 1 / precision, precision > LEAST / v


def _size(
    y: Float[Tensor, " k"], m: Float[Tensor, " k"], v: Float[Tensor, " k"], weights: Weights
) -> tuple[float, float]:
    """The size under which the rows are most probable, and what they gain on Poisson's, in nats per row."""
    w = torch.ones_like(y) if weights is None else weights

    def densities(size: float) -> Float[Tensor, " k"]:
        return log_expectation(lambda f: log_negative_binomial(y[:, None], f, size), m, v, NODES)

    def loss(log_size: float) -> float:
        return -float(w @ densities(exp(log_size)))

    bounds = log(SIZES[0]), log(SIZES[1])
    best: Any = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 0.01})
    poisson = log_expectation(lambda f: y[:, None] * f - f.exp() - torch.lgamma(y[:, None] + 1), m, v, NODES)
    return exp(float(best.x)), -(float(best.fun) + float(w @ poisson)) / float(w.sum())


def log_negative_binomial(y: Float[Tensor, "k 1"], f: Float[Tensor, "k q"], size: float) -> Float[Tensor, "k q"]:
    """log P(y|f) with the mean exp f and the variance exp f + exp(2f) / size."""
    constant = torch.lgamma(y + size) - torch.lgamma(y + 1) - torch.lgamma(torch.full_like(y, size))
    odds = f - log(size)
    return constant + y * torch.nn.functional.logsigmoid(odds) + size * torch.nn.functional.logsigmoid(-odds)
