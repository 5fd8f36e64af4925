"""Means, variances and covariances against 2x10^5 naive draws of (f, grad f) on a path."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from conformance.zoo import KERNELS, G, KernelCase, fitted, multiplied, periodic, rbf, rows, squared
from gplens import Full, explain
from gplens.baselines import Rows
from gplens.kernels import Matern52
from gplens.links import Exp, Link, Probit, Sigmoid
from oracles.error_bars import assert_moments, attribution_draws

CASES = [
    KERNELS["rbf"],
    KERNELS["rbf + linear"],
    KernelCase("rbf * periodic", lambda g: multiplied(rbf(g), periodic(g, 1))),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=repr)
@pytest.mark.parametrize("link", [Exp(), Probit(), Sigmoid()], ids=lambda link: type(link).__name__)
def test_moments_are_those_of_draws(case: KernelCase, link: Link) -> None:
    (posterior, dense), (X, X0) = fitted(case, 61), rows(61, 1)
    X0 = X0 + 0.5 * (X - X0)
    e = explain(posterior, X, baseline=Rows(X0), likelihood=link, uncertainty=Full())
    draws = attribution_draws(dense, G[type(link).__name__], X[0], X0[0], 200_000, seed=1)
    assert e.covariance is not None
    assert_moments(draws, e.values[0], e.covariance[0])


@pytest.mark.slow
def test_deviations_are_those_of_draws_for_a_rough_kernel() -> None:
    """Matern 5/2, rounded off within 1e-7 of r = 0 so that autograd finds its second derivative there."""
    (posterior, dense), (X, X0) = fitted(KERNELS["matern52"], 62), rows(62, 1)
    assert isinstance(posterior.kernel, Matern52)
    scale = posterior.kernel.lengthscale

    def rounded(x: Tensor, z: Tensor) -> Tensor:
        r = (squared(x, z, scale) + 1e-14).sqrt()
        return (1 + 5**0.5 * r + 5 * r**2 / 3) * torch.exp(-(5**0.5) * r)

    X0 = X0 + 0.5 * (X - X0)
    e = explain(posterior, X, baseline=Rows(X0), likelihood=Probit(), uncertainty=Full())
    draws = attribution_draws(replace(dense, k=rounded), G["Probit"], X[0], X0[0], 200_000, seed=2)
    assert e.covariance is not None
    assert_moments(draws, e.values[0], e.covariance[0])
