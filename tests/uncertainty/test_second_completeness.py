"""sum_kl Cov(IG_k, IG_l) = Var( g(f(x)) - g(f(x0)) )  (5.3), for every kernel and link."""

import pytest
import torch
from torch import Tensor

from conformance.zoo import EVERY_LINK, EVERY_POSTERIOR, KERNELS, G, KernelCase, fitted, rows
from gplens import Full, explain
from gplens.baselines import Rows
from gplens.links import Link
from gplens.targets import Custom, Latent
from oracles.dense import DensePosterior
from oracles.error_bars import Function, moments, variance_of_change


def assert_law(covariance: Tensor, dense: DensePosterior, x: Tensor, x0: Tensor, g: Function) -> None:
    """To 1e-9 of the second moment of the change, which is what cancellation leaves."""
    variance, mean = variance_of_change(*moments(dense, torch.stack([x, x0])), g)
    assert float((covariance.sum() - variance).abs()) <= 1e-9 * float(variance) + 1e-13 * float(mean**2) + 1e-15


QUICK = ("Exp",)
"""Links that every kernel but the slow ones is paired with in `make test`; rbf and matern52 are paired with all."""
SLOW = ("deep nesting", "autograd", "autograd inside a product", "warped matern52")
PAIRS = [
    pytest.param(
        case,
        link,
        id=f"{type(link).__name__}-{case}",
        marks=[]
        if case.name in ("rbf", "matern52") or (case.name not in SLOW and type(link).__name__ in QUICK)
        else [pytest.mark.slow],
    )
    for case in EVERY_POSTERIOR
    for link in EVERY_LINK
]


@pytest.mark.parametrize(("case", "link"), PAIRS)
def test_covariances_add_up_to_the_variance_of_the_change(case: KernelCase, link: Link) -> None:
    (posterior, dense), (X, X0) = fitted(case, 51), rows(51, 1)
    X0 = X0 + 0.6 * (X - X0)
    e = explain(posterior, X, baseline=Rows(X0), likelihood=link, uncertainty=Full(tolerance=1e-9), tolerance=1e-9)
    assert e.covariance is not None
    assert e.converged is not None
    assert e.converged.all()
    assert e.spread is not None
    assert e.spread.converged is not None
    assert e.spread.converged.all()
    assert_law(e.covariance[0], dense, X[0], X0[0], G[type(link).__name__])


def test_the_law_holds_for_any_function() -> None:
    (posterior, dense), (X, X0) = fitted(KERNELS["rbf"], 52), rows(52, 1)
    e = explain(
        posterior, X, baseline=Rows(X0), target=Custom(torch.sin), uncertainty=Full(tolerance=1e-9), tolerance=1e-9
    )
    assert e.covariance is not None
    assert_law(e.covariance[0], dense, X[0], X0[0], torch.sin)


def test_the_law_holds_for_the_latent_function_of_a_long_path() -> None:
    """Thirty lengthscales."""
    (posterior, dense), (X, X0) = fitted(KERNELS["rbf"], 53), rows(53, 1)
    X = 12 * X
    e = explain(posterior, X, baseline=Rows(X0), target=Latent(), uncertainty=Full(tolerance=1e-9), tolerance=1e-9)
    assert e.covariance is not None
    assert e.converged is not None
    assert e.converged.all()
    assert e.spread is not None
    assert e.spread.converged is not None
    assert e.spread.converged.all()
    assert_law(e.covariance[0], dense, X[0], X0[0], lambda f: f)
