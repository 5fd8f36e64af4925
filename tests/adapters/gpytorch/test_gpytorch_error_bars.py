"""The second completeness law (5.3) for GPyTorch models: jitter, float32, kernels by autograd, mixes of tasks."""

import gpytorch
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel, SpectralMixtureKernel
from gpytorch.means import ConstantMean
from gpytorch_models import Sparse
from torch import Tensor

from conformance.zoo import G
from gplens import Full, Mix, Stack, explain, read
from gplens.lines.line import Line
from gplens.links import Probit
from gplens.processes.process import Process
from oracles.error_bars import Function, variance_of_change


def law(process: Process, latent: int, covariance: Tensor, x: Tensor, x0: Tensor, g: Function) -> None:
    """Jitter is in v, not in c: what is random is E[g(f + N(0, jitter)) given f], here by three Hermite nodes."""
    ends = Line(x0[None], (x - x0)[None], torch.tensor([[1.0, 0.0]]).double())
    pairs = process.pairs(ends, ends, latent)
    m, v, c = pairs.left.m[0], pairs.left.v[0], pairs.c[0]
    step = (3 * (v - c.diagonal()).max().clamp(min=0)).sqrt()
    variance, _ = variance_of_change(m, c, lambda f: 2 / 3 * g(f) + (g(f + step) + g(f - step)) / 6)
    torch.testing.assert_close(covariance.sum(), variance, rtol=1e-6, atol=1e-9)


def model(kernel: torch.nn.Module, dtype: torch.dtype) -> torch.nn.Module:
    torch.manual_seed(5)
    subject = Sparse(torch.randn(6, 3, dtype=dtype), kernel, ConstantMean()).to(dtype)
    subject.variational_strategy._variational_distribution.variational_mean.data.normal_()
    subject.variational_strategy.variational_params_initialized.fill_(1)
    return subject.eval()


CASES = [
    ("bernoulli", lambda: gpytorch.likelihoods.BernoulliLikelihood(), G["Probit"]),
    ("poisson", lambda: gpytorch.likelihoods.PoissonLikelihood(), G["Softplus"]),
]


@pytest.mark.parametrize(("name", "likelihood", "g"), CASES, ids=[name for name, *_ in CASES])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_sparse_models_satisfy_the_law(name: str, likelihood: object, g: Function, dtype: torch.dtype) -> None:
    subject, X = model(ScaleKernel(RBFKernel(ard_num_dims=3)), dtype), torch.randn(2, 3, dtype=torch.float64)
    e = explain(
        subject, X[:1], baseline=X[1], likelihood=likelihood(), uncertainty=Full(tolerance=1e-7), tolerance=1e-8
    )  # type: ignore[operator]
    assert e.covariance is not None
    law(read(subject, points=X).process, 0, e.covariance[0], X[0], X[1], g)


@pytest.mark.slow
def test_a_kernel_by_autograd_satisfies_the_law() -> None:
    torch.manual_seed(6)
    subject, X = (
        model(SpectralMixtureKernel(num_mixtures=2, ard_num_dims=3), torch.float64),
        0.3 * torch.randn(2, 3).double(),
    )
    e = explain(
        subject,
        X[:1],
        baseline=X[1],
        likelihood=gpytorch.likelihoods.BernoulliLikelihood(),
        uncertainty=Full(tolerance=1e-7),
    )
    assert e.provenance.gradients == "autograd"
    assert e.covariance is not None
    law(read(subject, points=X).process, 0, e.covariance[0], X[0], X[1], G["Probit"])


def test_a_mix_of_tasks_satisfies_the_law() -> None:
    """As LMC makes it: the jitter of the mix is in v alone."""
    parts = [read(model(RBFKernel(), torch.float64)).process for _ in range(2)]
    mix = Mix(Stack(tuple(parts)), torch.tensor([[1.0, -0.5], [0.3, 2.0]]).double(), jitter=1e-6)
    X = torch.randn(2, 3, dtype=torch.float64)
    e = explain(mix, X[:1], baseline=X[1], likelihood=Probit(), uncertainty=Full(tolerance=1e-7), tolerance=1e-8)
    assert e.covariance is not None
    for task in range(2):
        law(mix, task, e.covariance[0, task], X[0], X[1], G["Probit"])


def test_tasks_that_gpytorch_mixes_satisfy_the_law() -> None:
    """A real LMCVariationalStrategy: two latent functions, three tasks."""
    torch.manual_seed(8)
    subject = Tasks().double().eval()
    X = torch.randn(2, 3, dtype=torch.float64)
    process = read(subject, points=X).process
    assert isinstance(process, Mix)
    e = explain(subject, X[:1], baseline=X[1], likelihood=Probit(), uncertainty=Full(tolerance=1e-7), tolerance=1e-8)
    assert e.covariance is not None
    assert e.covariance.shape == (1, 3, 3, 3)
    for task in range(3):
        law(process, task, e.covariance[0, task], X[0], X[1], G["Probit"])


class Tasks(gpytorch.models.ApproximateGP):
    """Three tasks, mixed from two latent functions."""

    def __init__(self) -> None:
        batch = torch.Size([2])
        q = gpytorch.variational.CholeskyVariationalDistribution(6, batch_shape=batch)
        inner = gpytorch.variational.VariationalStrategy(self, torch.randn(2, 6, 3), q)
        super().__init__(gpytorch.variational.LMCVariationalStrategy(inner, num_tasks=3, num_latents=2, latent_dim=-1))
        self.mean_module = ConstantMean(batch_shape=batch)
        self.covar_module = ScaleKernel(RBFKernel(batch_shape=batch), batch_shape=batch)
        q.variational_mean.data.normal_()
        inner.variational_params_initialized.fill_(1)

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Warped(gpytorch.kernels.Kernel):
    """A kernel that a user wrote: a squared exponential of sinh x."""

    has_lengthscale = True

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: object) -> Tensor:
        distance = self.covar_dist(
            x1.sinh() / self.lengthscale, x2.sinh() / self.lengthscale, diag=diag, square_dist=True
        )
        return torch.exp(-distance / 2)


def test_a_kernel_that_a_user_wrote_satisfies_the_law() -> None:
    subject, X = model(ScaleKernel(Warped()), torch.float64), 0.3 * torch.randn(2, 3).double()
    e = explain(
        subject,
        X[:1],
        baseline=X[1],
        likelihood=gpytorch.likelihoods.BernoulliLikelihood(),
        uncertainty=Full(tolerance=1e-7),
    )
    assert e.provenance.gradients == "autograd"
    assert e.covariance is not None
    law(read(subject, points=X).process, 0, e.covariance[0], X[0], X[1], G["Probit"])
