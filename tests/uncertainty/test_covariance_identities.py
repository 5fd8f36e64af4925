"""What every covariance of attributions obeys."""

import pytest
import torch

from conformance.zoo import (
    EVERY_LINK,
    EVERY_POSTERIOR,
    FEATURES,
    KERNELS,
    KernelCase,
    fitted,
    generator,
    normal,
    rbf,
    rows,
)
from gplens import Diagonal, Explanation, Full, Posterior, Samples, explain
from gplens.baselines import Rows
from gplens.kernels import ActiveDimensions, Kernel
from gplens.links import Exp, Link, Probit, Sigmoid

every_link = pytest.mark.parametrize("link", EVERY_LINK, ids=lambda link: type(link).__name__)
OMITTED = ("deep nesting", "autograd", "autograd inside a product", "matern32 shared", "active matern52")
"""Kernels that take minutes, and whose covariances obey the law of `test_second_completeness`."""
SLOW = ("warped matern52", "rbf * periodic * rational", "squared sum")
TIGHT = pytest.mark.filterwarnings("ignore:the standard deviations of 1 of 1 input:gplens.ConvergenceWarning")
"""The kinks of the piecewise polynomial do not allow for 1e-6."""
CASES = [
    pytest.param(
        case,
        id=case.name,
        marks=[pytest.mark.slow] * (case.name in SLOW) + [TIGHT] * (case.name == "piecewise polynomial"),
    )
    for case in EVERY_POSTERIOR
    if case.name not in OMITTED
]


def covariance(e: Explanation) -> torch.Tensor:
    assert e.covariance is not None
    return e.covariance


def std(e: Explanation) -> torch.Tensor:
    assert e.std is not None
    return e.std


@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")
@pytest.mark.parametrize("case", CASES)
def test_covariances_are_semi_definite_and_diagonal_is_their_diagonal(case: KernelCase) -> None:
    (posterior, _), (X, X0) = fitted(case, 31), rows(31, 1)
    full = explain(posterior, X, baseline=Rows(X0), likelihood=Sigmoid(), uncertainty=Full(tolerance=1e-7))
    C = covariance(full)[0]
    assert torch.equal(C, C.T)
    # Sigmoid's pair moments have an absolute error of 1e-11.
    assert float(torch.linalg.eigvalsh(C)[0]) >= -1e-10 * float(C.diagonal().max()) - 1e-11
    diagonal = explain(posterior, X, baseline=Rows(X0), likelihood=Sigmoid(), uncertainty=Diagonal(tolerance=1e-7))
    assert diagonal.covariance is None
    torch.testing.assert_close(std(diagonal), std(full), rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(std(full)[0] ** 2, C.diagonal().clamp(min=0), rtol=1e-12, atol=1e-15)


@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")
@pytest.mark.parametrize("case", CASES)
def test_swapping_input_and_baseline_leaves_the_covariance(case: KernelCase) -> None:
    (posterior, _), (X, X0) = fitted(case, 32), rows(32, 1)
    there = explain(posterior, X, baseline=Rows(X0), likelihood=Exp(), uncertainty=Full(tolerance=1e-6))
    back = explain(posterior, X0, baseline=Rows(X), likelihood=Exp(), uncertainty=Full(tolerance=1e-6))
    scale = float(covariance(there).abs().max())
    assert float((covariance(there) - covariance(back)).abs().max()) <= 3e-6 * scale + 1e-14


@every_link
def test_a_feature_that_the_kernel_ignores_is_certain(link: Link) -> None:
    g = generator(33)
    kernel: Kernel = ActiveDimensions(rbf(g, 2)[0], torch.tensor([3, 1]))
    posterior = Posterior.exact(kernel, normal(g, 7, FEATURES), normal(g, 7), noise=0.1)
    X, X0 = rows(33)
    e = explain(posterior, X, baseline=Rows(X0), likelihood=link, uncertainty=Samples(20, seed=0))
    assert e.draws is not None
    assert (std(e)[:, [0, 2]] == 0).all()
    assert (covariance(e)[:, [0, 2]] == 0).all()
    assert (e.draws[..., [0, 2]] == 0).all()
    assert (std(e)[:, [1, 3]] > 0).all()


@every_link
def test_an_input_at_its_baseline_is_certain(link: Link) -> None:
    (posterior, _), (X, _) = fitted(KERNELS["rbf"], 34), rows(34, 2)
    e = explain(posterior, X, baseline=Rows(X), likelihood=link, uncertainty=Samples(20, seed=0))
    assert e.draws is not None
    assert e.converged is not None
    assert e.converged.all()
    assert e.spread is not None
    assert e.spread.converged is not None
    assert e.spread.converged.all()
    assert (std(e) == 0).all()
    assert (covariance(e) == 0).all()
    assert (e.draws == 0).all()


def test_a_single_row_of_many_is_what_it_is_alone() -> None:
    (posterior, _), (X, X0) = fitted(KERNELS["rbf"], 35), rows(35)
    many = explain(posterior, X, baseline=Rows(X0), likelihood=Probit(), uncertainty=Full())
    alone = explain(posterior, X[1:2], baseline=X0[1:2], likelihood=Probit(), uncertainty=Full())
    torch.testing.assert_close(covariance(many)[1:2], covariance(alone), rtol=1e-12, atol=1e-15)
