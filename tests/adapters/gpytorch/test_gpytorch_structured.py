"""Kernels made of one kernel for each column, columns that are active twice, piecewise polynomials, arcs."""

from random import Random
from typing import Any

import gpytorch
import pytest
import torch
from deep_kernels import DeepCase
from gpytorch import kernels as host
from gpytorch.means import ConstantMean
from gpytorch_models import Exact
from test_gpytorch_deep_kernels import check_error_bars, check_values
from torch import Tensor

import gplens
from messages import naming
from seeds import fresh_seed

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning"),  # the structure kernels, in GPyTorch 2.0
    pytest.mark.filterwarnings("ignore:A not p.d., added jitter:linear_operator.utils.warnings.NumericalWarning"),
]
WITHOUT_ACTIVE = [
    host.RBFKernel,
    host.RQKernel,
    host.PeriodicKernel,
    lambda **options: host.MaternKernel(nu=1.5, **options),
    lambda **options: host.MaternKernel(nu=2.5, **options),
    lambda **options: host.PiecewisePolynomialKernel(q=2, **options),
]
FINE = 1e-8
"""A tolerance at which the errors of Matern 3/2, whose estimates are rough, are of the size of rounding."""
KINDS = ["repeated", "additive", "product", "piecewise", "arc"]


def structured_case(seed: int, kind: str) -> DeepCase:
    """An exact model of 2 to 4 features with a random kernel of the kind."""
    draw, features = Random(seed), Random(seed).randint(2, 4)
    torch.manual_seed(seed)
    X = torch.randn(16, features, dtype=torch.float64)
    kernel = host.ScaleKernel(_kernel(draw, kind, features))
    for name, parameter in kernel.named_parameters():
        if parameter.requires_grad:
            parameter.data = 0.6 * torch.randn_like(parameter) + (1.5 if "lengthscale" in name else 0)
    model = Exact(X, X.sin().sum(1), gpytorch.likelihoods.GaussianLikelihood(), kernel, ConstantMean()).double().eval()
    return DeepCase(model, None, X[:2] + 0.1, X.mean(0), f"seed {seed}, {kind}: {kernel}")


def _kernel(draw: Random, kind: str, features: int) -> host.Kernel:
    if kind == "repeated":
        dims = [draw.randrange(features) for _ in range(draw.randint(2, 5))]
        return draw.choice(WITHOUT_ACTIVE)(active_dims=[*dims, dims[0]], ard_num_dims=len(dims) + 1)
    if kind == "piecewise":
        return host.PiecewisePolynomialKernel(q=draw.randint(1, 3), **_ard(draw, features))
    if kind == "arc":
        base = draw.choice([host.RBFKernel(), host.MaternKernel(nu=1.5), host.MaternKernel(nu=2.5), host.RQKernel()])
        return host.ArcKernel(base, ard_num_dims=features if draw.random() < 0.5 else None)
    rule = host.AdditiveStructureKernel if kind == "additive" else host.ProductStructureKernel
    active = draw.sample(range(features), features - 1) if draw.random() < 0.4 else None
    count = features if active is None else len(active)
    base = draw.choice(WITHOUT_ACTIVE)(**_ard(draw, count))
    return rule(host.ScaleKernel(base) if draw.random() < 0.5 else base, num_dims=count, active_dims=active)


def _ard(draw: Random, features: int) -> dict[str, Any]:
    return {"ard_num_dims": features} if draw.random() < 0.5 else {}


@pytest.mark.parametrize("kind", KINDS)
def test_attributions_are_those_of_the_host(kind: str) -> None:
    for seed in range(3):
        check_values(structured_case(seed, kind), tolerance=FINE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_error_bars_are_those_of_the_host(kind: str) -> None:
    check_error_bars(structured_case(0, kind))


@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_kernels(kind: str) -> None:
    first = fresh_seed()
    for seed in range(first, first + 60):
        check_values(structured_case(seed, kind), tolerance=FINE)
        if seed % 6 == 0:
            check_error_bars(structured_case(seed, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_formulas_are_used(kind: str) -> None:
    case = structured_case(0, kind)
    provenance = gplens.explain(case.model, case.X, baseline=case.baseline).provenance
    assert not any("no formula" in note for note in provenance.notes)
    assert provenance.gradients == ("autograd" if kind == "arc" else "closed form")


def newton_girard() -> DeepCase:
    case = structured_case(0, "additive")
    features = case.X.shape[1]
    case.model.covar_module = host.NewtonGirardAdditiveKernel(host.RBFKernel(ard_num_dims=features), num_dims=features)
    case.model.double()
    return case


def test_a_kernel_that_the_host_computes_in_float32_is_refused() -> None:
    case = newton_girard()
    with pytest.raises(ValueError, match=naming("NewtonGirardAdditiveKernel", "torch.float32", "set_default_dtype")):
        gplens.explain(case.model, case.X, baseline=case.baseline)


def test_the_same_kernel_in_float64() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        check_values(newton_girard())
    finally:
        torch.set_default_dtype(torch.float32)


class Subclass(host.MaternKernel):
    """Goes through autograd, where torch.cdist has no second derivative."""


class Structure(host.AdditiveStructureKernel):
    """A subclass, which gplens does not take for its parent."""


def test_error_bars_that_autograd_cannot_compute_are_refused() -> None:
    case = structured_case(0, "piecewise")
    case.model.covar_module = Subclass().double()
    check_values(case)
    with pytest.raises(ValueError, match=naming("Subclass", "torch.cdist", "uncertainty=")):
        gplens.explain(case.model, case.X, baseline=case.baseline, uncertainty=gplens.Diagonal())


def test_a_structure_of_an_unknown_kernel_goes_through_autograd() -> None:
    class Unknown(host.RBFKernel):
        def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
            return super().forward(x1, x2, diag=diag, **params) ** 2

    case = structured_case(1, "additive")
    case.model.covar_module = host.AdditiveStructureKernel(Unknown(), num_dims=2, active_dims=[1, 0]).double()
    check_values(case)
    case = structured_case(1, "additive")
    case.model.covar_module = Structure(host.RBFKernel(), num_dims=case.X.shape[1]).double()
    check_values(case)
