"""Workloads, and the synthetic ones: GPyTorch models with random, well-conditioned posteriors and short paths."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gpytorch
import torch
from torch import Tensor

import gplens


class Sparse(gpytorch.models.ApproximateGP):
    """An ARD model with one latent function, or a batch of them with kernels and inducing points of their own."""

    def __init__(
        self,
        Z: Tensor,
        classes: int | None = None,
        kernel: Callable[..., gpytorch.kernels.Kernel] = gpytorch.kernels.RBFKernel,
    ) -> None:
        batch = torch.Size() if classes is None else torch.Size([classes])
        q = gpytorch.variational.CholeskyVariationalDistribution(Z.shape[-2], batch_shape=batch)
        strategy = gpytorch.variational.VariationalStrategy(self, Z, q)
        if classes is not None:
            strategy = gpytorch.variational.IndependentMultitaskVariationalStrategy(strategy, num_tasks=classes)
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ConstantMean(batch_shape=batch)
        stationary = kernel(ard_num_dims=Z.shape[-1], batch_shape=batch)
        self.covar_module = gpytorch.kernels.ScaleKernel(stationary, batch_shape=batch)

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class LogPoisson(gpytorch.likelihoods.PoissonLikelihood):
    """Counts with the rate exp(f)."""

    def forward(self, function_samples: Tensor, *args: object, **kwargs: object) -> torch.distributions.Poisson:
        return torch.distributions.Poisson(function_samples.exp())


@dataclass
class Workload:
    """A model of any host, the inputs to explain and the baseline, a row."""

    model: Any
    likelihood: gpytorch.likelihoods.Likelihood | None
    X: Tensor
    x0: Tensor

    def first(self, rows: int) -> "Workload":
        """The first rows, and the same model, not read again."""
        return self._of(self.X[:rows])

    def row(self, i: int) -> "Workload":
        return self._of(self.X[i : i + 1])

    def _of(self, X: Tensor) -> "Workload":
        part = Workload(self.model, self.likelihood, X, self.x0)
        part.prepared = self.prepared
        return part

    @cached_property
    def prepared(self) -> gplens.Reading:
        """The model, read once; every explanation still compares it with the live model."""
        return gplens.read(self.model, self.likelihood)

    def explain(self, **options: object) -> gplens.Explanation:
        return gplens.explain(self.prepared, self.X, baseline=self.x0[0], **options)


def _random_posterior(model: Sparse, lengthscale: float, generator: torch.Generator) -> None:
    """q(u) = N(a, 0.25 I), a ~ N(0, 1), in whitened coordinates."""
    strategy = model.variational_strategy
    base = getattr(strategy, "base_variational_strategy", strategy)
    q = base._variational_distribution
    q.variational_mean.data = torch.randn(q.variational_mean.shape, generator=generator, dtype=torch.float64)
    q.chol_variational_covar.data = 0.5 * torch.eye(q.variational_mean.shape[-1]).double().expand_as(
        q.chol_variational_covar
    )
    base.variational_params_initialized.fill_(1)
    model.covar_module.base_kernel.lengthscale = lengthscale
    model.covar_module.outputscale = 1.0


def tabular(rows: int, d: int = 9, n: int = 500, seed: int = 0) -> Workload:
    """Counts of nine standardised features."""
    generator = torch.Generator().manual_seed(seed)
    X, Z = (torch.randn(size, d, generator=generator, dtype=torch.float64) for size in (rows, n))
    model = Sparse(Z).double().eval()
    _random_posterior(model, 2.5, generator)
    return Workload(model, LogPoisson(), X, X.mean(0, keepdim=True))


def images(rows: int, d: int = 784, classes: int = 10, n: int = 100, seed: int = 0) -> Workload:
    """Ten classes of sparse images, n inducing points for each."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        ink = torch.rand(*shape, d, generator=generator, dtype=torch.float64)
        return torch.where(ink > 0.8, ink, 0.0)

    X, model = draw(rows), Sparse(draw(classes, n), classes).double().eval()
    _random_posterior(model, 0.35 * d**0.5, generator)
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=classes, mixing_weights=False)
    return Workload(model, likelihood, X, torch.zeros(1, d, dtype=torch.float64))


def binary(rows: int, d: int = 784, n: int = 100, seed: int = 0) -> Workload:
    """Two classes of sparse images, one latent function; a lengthscale that grows as distances do."""
    generator = torch.Generator().manual_seed(seed)
    ink = torch.rand(rows + n, d, generator=generator, dtype=torch.float64)
    ink = torch.where(ink > 0.8, ink, 0.0)
    model = Sparse(ink[rows:]).double().eval()
    _random_posterior(model, 0.35 * d**0.5, generator)
    return Workload(
        model, gpytorch.likelihoods.BernoulliLikelihood(), ink[:rows], torch.zeros(1, d, dtype=torch.float64)
    )
