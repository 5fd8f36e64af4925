"""Kernels by autograd: smooth ones of any lengthscale, period, unit and offset are accepted, rough ones are refused."""

from collections.abc import Callable
from random import Random
from typing import Any

import gpytorch
import pytest
import torch
from gpytorch import kernels as host
from gpytorch_models import Exact
from gpytorch_parts import CauchyKernel
from torch import Tensor

import gplens
from gplens.adapters.gpytorch.smoothness import check_smooth
from gplens.kernels import Autograd
from messages import naming
from seeds import fresh_seed

Make = Callable[[int], host.Kernel]
SMOOTH: list[Make] = [
    lambda d: host.RBFKernel(ard_num_dims=d),
    lambda d: host.MaternKernel(nu=1.5, ard_num_dims=d),
    lambda d: host.MaternKernel(nu=2.5, ard_num_dims=d),
    lambda d: host.RQKernel(ard_num_dims=d),
    lambda d: host.PeriodicKernel(ard_num_dims=d),
    lambda d: CauchyKernel(ard_num_dims=d),
    lambda d: host.PiecewisePolynomialKernel(q=1, ard_num_dims=d),
]
ROUGH: list[Make] = [
    lambda d: host.MaternKernel(nu=0.5, ard_num_dims=d),
    lambda d: host.PiecewisePolynomialKernel(q=0, ard_num_dims=d),
]


def evaluated(kernel: Any) -> Autograd:
    """The kernel as a black box."""
    kernel.double().requires_grad_(False)
    return Autograd(lambda X, Z: kernel(X, Z).to_dense(), lambda X: torch.as_tensor(kernel(X, diag=True)))


def drawn(seed: int, kinds: list[Make]) -> tuple[host.Kernel, Tensor, Tensor]:
    """A kernel with lengthscales from 1/3000 to 100 of the spread, and points in random units with random offsets."""
    draw = Random(seed)
    torch.manual_seed(seed)
    d = draw.randint(1, 5)
    units = torch.tensor([10 ** draw.uniform(-6, 6) for _ in range(d)], dtype=torch.float64)
    offset = torch.tensor([draw.choice([0, 0, 1, -1]) * 10 ** draw.uniform(0, 6) for _ in range(d)])
    X = (torch.rand(draw.choice([2, 5, 30, 100]), d, dtype=torch.float64) + offset) * units
    scale, kernel = units * 10 ** draw.uniform(-3.5, 2), draw.choice(kinds)(d).double()
    if isinstance(kernel, host.PeriodicKernel):
        kernel.period_length, kernel.lengthscale = scale, torch.full((d,), 10 ** draw.uniform(-1, 1))
    else:
        kernel.lengthscale = scale
    scaled = host.ScaleKernel(kernel).double()
    scaled.outputscale = 10 ** draw.uniform(-6, 6)
    return scaled, X, scale


def check_accepted(seed: int) -> None:
    kernel, X, _ = drawn(seed, SMOOTH)
    try:
        check_smooth(evaluated(kernel), X)
    except ValueError as refusal:
        raise AssertionError(f"seed {seed}: {kernel} was refused") from refusal


def check_refused(seed: int) -> None:
    """Alone, and as a part of 1/1000 of a smooth kernel."""
    rough, X, scale = drawn(seed, ROUGH)
    smooth = host.ScaleKernel(host.RBFKernel(ard_num_dims=X.shape[1])).double()
    smooth.base_kernel.lengthscale, smooth.outputscale = scale, 1000 * rough.outputscale.detach()
    for kernel in (rough, smooth + rough):
        try:
            check_smooth(evaluated(kernel), X)
        except ValueError:
            continue
        raise AssertionError(f"seed {seed}: {kernel} was accepted")


def test_smooth_kernels_are_accepted() -> None:
    for seed in range(100):
        check_accepted(seed)


def test_rough_kernels_are_refused() -> None:
    for seed in range(100):
        check_refused(seed)


@pytest.mark.slow
def test_many_kernels() -> None:
    first = fresh_seed()
    for seed in range(first, first + 400):
        check_accepted(seed)
        check_refused(seed)


class Renamed(host.PeriodicKernel):
    """A subclass, which gplens does not take for its parent."""


def test_a_short_period_is_explained() -> None:
    """A day in a year of hours."""
    torch.manual_seed(0)
    X = torch.stack([torch.rand(60, dtype=torch.float64) * 8760, torch.rand(60, dtype=torch.float64)], dim=1)
    kernel = Renamed(active_dims=[0])
    kernel.period_length = 24.0
    model = Exact(X, X[:, 1], gpytorch.likelihoods.GaussianLikelihood(), kernel, gpytorch.means.ConstantMean())
    x, x0 = X[:1], X[:1] + torch.tensor([[5.0, 0.1]])
    e = gplens.explain(model.double().eval(), x, baseline=x0)
    with torch.no_grad():
        change = model(x).mean - model(x0).mean
    torch.testing.assert_close(e.values.sum(1), change, rtol=1e-6, atol=1e-9)


KERNELS: list[Make] = [*SMOOTH[:4], lambda d: host.ScaleKernel(host.MaternKernel(ard_num_dims=d)) + host.LinearKernel()]


@pytest.mark.parametrize("make", KERNELS)
def test_formulas_are_used_for_dates_with_a_baseline_far_away(make: Make) -> None:
    """Beside a baseline of zeros the host loses the distances between dates, for which the formulas are not blamed."""
    torch.manual_seed(0)
    dates = 1.7e9 + torch.rand(40, dtype=torch.float64) * 7 * 86400
    X = torch.stack([dates, torch.rand(40, dtype=torch.float64)], dim=1)
    kernel = make(2)
    for part in kernel.modules():
        if isinstance(part, host.LinearKernel):
            part.variance = 1e-19
        elif getattr(part, "has_lengthscale", False):
            part.lengthscale = torch.tensor([3600.0, 1.0])
    model = Exact(X, X[:, 1], gpytorch.likelihoods.GaussianLikelihood(), kernel, gpytorch.means.ConstantMean())
    x = X[:2] + torch.tensor([360.0, 0.1])
    with pytest.warns(gplens.ConvergenceWarning, match=naming("lengthscales", "'x0'", "tolerance")):
        e = gplens.explain(model.double().eval(), x, baseline=gplens.baselines.Zeros(), support=False)
    assert e.provenance.gradients == "closed form"
    with torch.no_grad():
        predicted = model(x).mean
    assert float((gplens.read(model).process.m(x)[:, 0] - predicted).abs().max()) <= 1e-8
