"""Attributions against autograd through dense formulas, integrated by scipy."""

import numpy as np
import pytest
import torch
from torch import Tensor

import gplens
from conformance.zoo import (
    EVERY_LINK,
    EVERY_POSTERIOR,
    EXPECTED,
    KERNELS,
    PAIRS,
    KernelCase,
    fitted,
    generator,
    normal,
    rows,
)
from gplens import Posterior, explain
from gplens.baselines import Rows
from gplens.kernels import RBF, Matern32, Matern52
from gplens.links import Exp, Identity, Link, Probit, Square
from gplens.rules import GaussLegendre, RiemannRight
from oracles.dense import DensePosterior, adaptive_integrated_gradient, fit, gradient, integrated_gradient

every_link = pytest.mark.parametrize("link", EVERY_LINK, ids=lambda link: type(link).__name__)


def expected(dense: DensePosterior, link: Link, X: Tensor, X0: Tensor, count: int = 8) -> Tensor:
    T = EXPECTED[type(link).__name__]
    function = lambda x: T(dense.m(x), dense.v(x))  # noqa: E731
    return torch.stack([integrated_gradient(function, x, x0, count) for x, x0 in zip(X, X0, strict=True)])


@pytest.mark.parametrize(("case", "link"), PAIRS)
def test_attributions_are_the_integrals_of_the_gradient(case: KernelCase, link: Link) -> None:
    """IG_k = d_k int d_k T(x0 + t d) dt, with an error below the one that is stated, and below the tolerance."""
    (posterior, dense), (X, X0) = fitted(case, 21), rows(21, 2)
    e = explain(posterior, X, baseline=Rows(X0), likelihood=link, tolerance=1e-8)
    true = (e.values - expected(dense, link, X, X0)).abs()
    assert (true <= 1e-8 * e.values.abs().amax(1, keepdim=True) + 1e-10).all()
    assert e.error is not None
    assert (true <= e.error + 1e-10).all()


@every_link
def test_the_oracle_agrees_with_adaptive_quadrature(link: Link) -> None:
    """scipy.integrate.quad_vec, to check the many panels that stand in for it above."""
    (posterior, dense), (X, X0) = fitted(KERNELS["rbf"], 22), rows(22, 1)
    T = EXPECTED[type(link).__name__]
    adaptive = adaptive_integrated_gradient(lambda x: T(dense.m(x), dense.v(x)), X[0], X0[0])
    torch.testing.assert_close(adaptive, expected(dense, link, X, X0)[0], rtol=1e-9, atol=1e-11)
    e = explain(posterior, X, baseline=Rows(X0), likelihood=link, tolerance=1e-9)
    torch.testing.assert_close(e.values[0], adaptive, rtol=1e-8, atol=1e-9)


SMOOTH = [
    pytest.param(
        case,
        link,
        id=f"{type(link).__name__}-{case}",
        marks=[] if isinstance(link, Exp) or case.name == "rbf" else pytest.mark.slow,
    )
    for case in EVERY_POSTERIOR
    if case.smooth and case.name != "constant"
    for link in (Identity(), Exp(), Probit(), Square())
]


@pytest.mark.parametrize(("case", "link"), SMOOTH)
def test_a_tolerance_of_1e_12_is_kept(case: KernelCase, link: Link) -> None:
    """Analytic kernels and closed-form links: gap and error both below 1e-12, relative to (4.8)."""
    (posterior, dense), (X, X0) = fitted(case, 23, noise=1.0), rows(23, 2)
    e = explain(posterior, X, baseline=Rows(X0), likelihood=link, tolerance=1e-12)
    size = torch.maximum(e.values.abs().amax(1), (e.prediction - e.baseline_prediction).abs())
    assert e.converged is not None
    assert e.converged.all()
    assert (e.gap.abs() <= 1e-12 * size).all()
    assert ((e.values - expected(dense, link, X, X0)).abs() <= 1e-12 * size[:, None]).all(), (
        f"attributions of size {size.tolist()}; if they are huge, {case} draws parameters with too large a k(x, x)"
    )


def along_a_road(seed: int, kernel: str, length: float) -> tuple[Posterior, DensePosterior, Tensor, Tensor]:
    """Support points scattered near a straight path of so many lengthscales."""
    g = generator(seed)
    x0, x = torch.zeros(3, dtype=torch.float64), torch.tensor([1.0, -2.0, 2.0], dtype=torch.float64) * length / 3
    Z = x0 + torch.rand(25, 1, generator=g, dtype=torch.float64) * (x - x0) + 0.3 * normal(g, 25, 3)
    r = lambda a, b: ((a - b) ** 2).sum(-1)  # noqa: E731
    k = {
        "rbf": lambda a, b: torch.exp(-r(a, b) / 2),
        "matern52": lambda a, b: (
            (1 + 5**0.5 * _root(r(a, b)) + 5 / 3 * r(a, b)) * torch.exp(-(5**0.5) * _root(r(a, b)))
        ),
        "matern32": lambda a, b: (1 + 3**0.5 * _root(r(a, b))) * torch.exp(-(3**0.5) * _root(r(a, b))),
    }[kernel]
    dense = fit(k, Z, normal(g, 25), 0.1)
    classes = {"rbf": RBF, "matern52": Matern52, "matern32": Matern32}
    posterior = Posterior(classes[kernel](torch.ones(1, dtype=torch.float64)), Z, dense.beta, dense.A)
    return posterior, dense, x, x0


def _root(r2: Tensor) -> Tensor:
    return torch.where(r2 > 0, r2, 1).sqrt() * (r2 > 0)


@pytest.mark.parametrize("kernel", ["rbf", "matern52", "matern32"])
@pytest.mark.parametrize("link", [Identity(), Exp(), Probit()], ids=lambda link: type(link).__name__)
def test_a_path_of_fifty_lengthscales_is_followed(kernel: str, link: Link) -> None:
    """Every bump on the road counts, though no single panel would see them."""
    posterior, dense, x, x0 = along_a_road(0, kernel, 50.0)
    e = explain(posterior, x[None], baseline=x0, likelihood=link, tolerance=1e-8)
    assert e.converged is not None
    assert e.converged.all()
    true = expected(dense, link, x[None], x0[None], 400)
    assert (e.values - true).abs().max() <= 1e-8 * true.abs().max() + 1e-10
    blind = explain(posterior, x[None], baseline=x0, likelihood=link, rule=GaussLegendre(16)).values
    assert (blind - true).abs().max() > 1e-3 * true.abs().max()


@pytest.mark.parametrize("kernel", ["matern32", "matern52"])
@pytest.mark.parametrize("link", [Identity(), Exp()], ids=lambda link: type(link).__name__)
def test_a_path_straight_through_a_support_point_is_followed(kernel: str, link: Link) -> None:
    """The kink is where naive autograd gives NaN. The oracle integrates the two halves, each smooth."""
    posterior, dense, _, _ = along_a_road(1, kernel, 3.0)
    d, z = torch.tensor([0.7, -0.4, 1.1], dtype=torch.float64), posterior.Z[3]
    x0, x = z - d, z + 1.3 * d
    e = explain(posterior, x[None], baseline=x0, likelihood=link, tolerance=1e-9)
    true = expected(dense, link, torch.stack([z, x]), torch.stack([x0, z]), 60).sum(0)
    assert e.converged is not None
    assert e.converged.all()
    assert (e.values[0] - true).abs().max() <= 1e-9 * true.abs().max() + 1e-10


def test_fixed_rules_are_their_sums() -> None:
    """RiemannRight is the paper's rule: the mean of d_k d_k T over t = 1/n, ..., 1."""
    (posterior, dense), (X, X0) = fitted(KERNELS["matern52"], 24), rows(24, 1)
    e = explain(posterior, X, baseline=Rows(X0), likelihood=Exp(), rule=RiemannRight(50))
    d, t = X - X0, torch.as_tensor(np.arange(1, 51) / 50)[:, None]
    slopes = gradient(lambda x: torch.exp(dense.m(x) + dense.v(x) / 2), X0 + t * d)
    torch.testing.assert_close(e.values, d * slopes.mean(0), rtol=1e-10, atol=1e-11)
    assert e.error is None
    assert e.converged is None


def test_captum_comes_closer_the_more_steps_it_takes() -> None:
    """An independent implementation of Integrated Gradients, on the naive formula."""
    from captum.attr import IntegratedGradients

    (posterior, dense), (X, X0) = fitted(KERNELS["rbf"], 25), rows(25, 2)
    e = gplens.explain(posterior, X, baseline=Rows(X0), likelihood=Exp(), tolerance=1e-10)
    captum = IntegratedGradients(lambda x: torch.exp(dense.m(x) + dense.v(x) / 2))
    for steps, bound in ((4, 1e-1), (8, 1e-2), (50, 1e-8)):  # its nodes are rounded to float32
        theirs = captum.attribute(X, X0, n_steps=steps, method="gausslegendre")
        assert (theirs - e.values).abs().max() < bound * e.values.abs().max()
