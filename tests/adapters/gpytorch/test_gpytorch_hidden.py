"""What a kernel or a model hides: no derivative, or another function outside of the first rows."""

from typing import Any

import gpytorch
import pytest
import torch
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch_models import Sparse
from torch import Tensor

import gplens


class Exponential(Kernel):
    """exp(-|x - z|), a user's own: as rough as Matern 1/2, under a name that says nothing."""

    has_lengthscale = True

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        return torch.exp(-self.covar_dist(x1 / self.lengthscale, x2 / self.lengthscale, diag=diag))


class Clamped(gpytorch.models.ExactGP):
    """Its prior looks like an RBF kernel within +-1.2, and is flat outside."""

    def __init__(self, X: Tensor, y: Tensor) -> None:
        super().__init__(X, y, gpytorch.likelihoods.GaussianLikelihood().double())
        self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel().double()

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        x = x.clamp(-1.2, 1.2)
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def test_a_rough_kernel_of_the_users_own_is_refused() -> None:
    torch.manual_seed(0)
    points = torch.rand(6, 2, dtype=torch.float64)
    model = Sparse(points, ScaleKernel(Exponential()), gpytorch.means.ZeroMean()).double()
    model.eval()(points)
    with pytest.raises(ValueError, match=r"derivative.* h\^1\.0"):
        gplens.explain(model, points, baseline=0.0, target=gplens.targets.Latent())


def test_one_row_on_which_the_model_differs_is_found_among_many() -> None:
    """A row far out, behind many harmless ones: explained through forward(), and equal to the host there."""
    torch.manual_seed(0)
    X = torch.rand(20, 2, dtype=torch.float64) * 2 - 1
    model = Clamped(X, X.sum(1).sin()).eval()
    rows = torch.cat([X.repeat(5, 1), torch.tensor([[3.0, 0.2]], dtype=torch.float64), X])
    ours = gplens.explain(model, rows, baseline=0.0)
    with torch.no_grad():
        host = model(rows).mean
    assert (ours.prediction - host).abs().max() < 1e-9
    assert ours.provenance.gradients == "autograd"


class Renamed(gpytorch.models.ApproximateGP):
    """Its kernel is not called covar_module, so that it is only seen through forward()."""

    def __init__(self, Z: Tensor, kernel: Kernel) -> None:
        q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
        super().__init__(gpytorch.variational.VariationalStrategy(self, Z, q))
        self.mean_module, self.k = gpytorch.means.ZeroMean(), kernel

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.k(x))


@pytest.mark.parametrize(
    "kernel",
    [
        gpytorch.kernels.MaternKernel(nu=0.5),
        Exponential(),
        gpytorch.kernels.RBFKernel() + ScaleKernel(Exponential()),
    ],
    ids=["Matern 1/2", "a user's own", "a rough part"],
)
def test_a_rough_kernel_under_another_name_is_refused(kernel: Kernel) -> None:
    torch.manual_seed(0)
    points = torch.rand(6, 2, dtype=torch.float64)
    model = Renamed(points, kernel).double()
    if isinstance(kernel, gpytorch.kernels.AdditiveKernel):
        kernel.kernels[1].outputscale = 1e-3
    model.eval()(points)
    with pytest.raises(ValueError, match="derivative"):
        gplens.explain(model, points, baseline=0.0, target=gplens.targets.Latent())


class Exact(gpytorch.models.ExactGP):
    """Any kernel, float64."""

    def __init__(self, X: Tensor, kernel: Kernel) -> None:
        super().__init__(X, X.sum(1).sin(), gpytorch.likelihoods.GaussianLikelihood())
        self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), kernel

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


@pytest.mark.parametrize("name", ["InducingPointKernel", "RBFKernelGrad", "GridInterpolationKernel"])
def test_priors_that_are_more_than_a_kernel_of_inputs_are_refused_by_name(name: str) -> None:
    X = torch.rand(9, 2, dtype=torch.float64)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    sgpr = gpytorch.kernels.InducingPointKernel(ScaleKernel(gpytorch.kernels.RBFKernel()), X[:3].clone(), likelihood)
    kernel = {
        "InducingPointKernel": lambda: sgpr,
        "RBFKernelGrad": gpytorch.kernels.RBFKernelGrad,
        "GridInterpolationKernel": lambda: gpytorch.kernels.GridInterpolationKernel(
            gpytorch.kernels.RBFKernel(), num_dims=2, grid_size=20
        ),
    }[name]()
    with pytest.raises(ValueError, match=name):
        gplens.explain(Exact(X, kernel).double(), X, baseline=0.0)
