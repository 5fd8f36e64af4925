"""The GPyTorch models behind the estimators."""

from collections.abc import Callable
from math import log
from typing import Any, final

import gpytorch.kernels as host
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import Mean
from gpytorch.models import ApproximateGP, ExactGP
from gpytorch.variational import (
    CholeskyVariationalDistribution,
    IndependentMultitaskVariationalStrategy,
    VariationalStrategy,
)
from jaxtyping import Float
from torch import Tensor

BASES: dict[str, Callable[[int | None, torch.Size], host.Kernel]] = {
    "rbf": lambda d, batch: host.RBFKernel(ard_num_dims=d, batch_shape=batch),
    "matern32": lambda d, batch: host.MaternKernel(nu=1.5, ard_num_dims=d, batch_shape=batch),
    "matern52": lambda d, batch: host.MaternKernel(nu=2.5, ard_num_dims=d, batch_shape=batch),
    "rational_quadratic": lambda d, batch: host.RQKernel(ard_num_dims=d, batch_shape=batch),
}
"""Kernels of (x - z) / lengthscale, which is why a change of units is a change of lengthscales."""


def kernel_of(name: str, lengthscales: int | None, kernels: int | None) -> host.ScaleKernel:
    """A scaled kernel with one lengthscale or several, alone or one for each latent function."""
    if name not in BASES:
        raise ValueError(f"kernel={name!r}: wanted was one of {sorted(BASES)}.")
    batch = torch.Size([] if kernels is None else [kernels])
    return host.ScaleKernel(BASES[name](lengthscales, batch), batch_shape=batch)


WIDTH = 3**0.5
"""Standard deviation of log lengthscales around where they start: a factor of 30 either way within two of them."""


def log_prior(kernel: Any, typical: float) -> Float[Tensor, ""]:
    """Of the lengthscales: log-normal around the typical distance, without which few rows let them run off to zero."""
    away = torch.as_tensor(kernel.base_kernel.lengthscale).log() - log(typical)
    return -(away**2).sum() / (2 * WIDTH**2)


@final
class Exact(ExactGP):
    """Exact inference for a Gaussian likelihood."""

    def __init__(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, " n"],
        likelihood: GaussianLikelihood,
        kernel: host.Kernel,
        mean: Mean,
    ) -> None:
        super().__init__(X, y, likelihood)
        self.mean_module, self.covar_module = mean, kernel

    def forward(self, x: Tensor) -> MultivariateNormal:
        """The prior at x."""
        return MultivariateNormal(torch.as_tensor(self.mean_module(x)), self.covar_module(x))


@final
class Sparse(ApproximateGP):
    """Variational inference at inducing points, whitened; several latent functions share K unless it has a batch."""

    def __init__(
        self,
        Z: Float[Tensor, "*c n d"],
        kernel: host.Kernel,
        mean: Mean,
        *,
        latents: int | None,
        jitter: float,
    ) -> None:
        batch = torch.Size([] if latents is None else [latents])
        q = CholeskyVariationalDistribution(Z.shape[-2], batch_shape=batch)
        own = VariationalStrategy(self, Z, q, jitter_val=jitter)
        torch.as_tensor(own.variational_params_initialized).fill_(1)  # q(u) is written by the fit, not by a first call
        tasks = own if latents is None else IndependentMultitaskVariationalStrategy(own, num_tasks=latents)
        super().__init__(tasks)
        self.mean_module, self.covar_module = mean, kernel

    def forward(self, x: Tensor) -> MultivariateNormal:
        """The prior at x."""
        return MultivariateNormal(torch.as_tensor(self.mean_module(x)), self.covar_module(x))

    @property
    def strategy(self) -> Any:
        """The one with the inducing points, inside the one with the tasks."""
        outer: Any = self.variational_strategy
        return getattr(outer, "base_variational_strategy", outer)

    @property
    def q(self) -> Any:
        """Mean and Cholesky factor of q(u), whitened."""
        return self.strategy._variational_distribution
