"""The models that users write after GPyTorch's tutorials: exact, sparse, several outputs, deep kernels."""

from collections.abc import Callable

import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from gpytorch.means import Mean
from gpytorch.models import ApproximateGP, ExactGP
from gpytorch.variational import (
    CholeskyVariationalDistribution,
    IndependentMultitaskVariationalStrategy,
    LMCVariationalStrategy,
    VariationalStrategy,
)
from gpytorch.variational._variational_distribution import _VariationalDistribution
from gpytorch.variational._variational_strategy import _VariationalStrategy
from torch import Tensor
from torch.nn import Module

Wrap = Callable[[_VariationalStrategy], Module]


class Exact(ExactGP):
    """Exact inference; `features` is a network in front of the kernel."""

    def __init__(
        self, x: Tensor, y: Tensor, likelihood: Likelihood, kernel: Kernel, mean: Mean, features: Module | None = None
    ) -> None:
        super().__init__(x, y, likelihood)
        self.mean_module, self.covar_module, self.features = mean, kernel, features

    def forward(self, x: Tensor) -> MultivariateNormal:
        noticed = x if self.features is None else self.features(x)
        return MultivariateNormal(self.mean_module(x), self.covar_module(noticed))


class Sparse(ApproximateGP):
    """Variational inference at inducing points Z; `wrap` puts several outputs around the strategy."""

    def __init__(
        self,
        Z: Tensor,
        kernel: Kernel,
        mean: Mean,
        *,
        strategy: type[_VariationalStrategy] = VariationalStrategy,
        q: type[_VariationalDistribution] = CholeskyVariationalDistribution,
        latents: int | None = None,
        wrap: Wrap = lambda strategy: strategy,
        jitter: float | None = None,
        features: Module | None = None,
    ) -> None:
        batch = torch.Size([] if latents is None else [latents])
        subject = strategy(self, Z, q(Z.shape[-2], batch_shape=batch), jitter_val=jitter)
        super().__init__(wrap(subject))
        self.mean_module, self.covar_module, self.features = mean, kernel, features

    def forward(self, x: Tensor) -> MultivariateNormal:
        noticed = x if self.features is None else self.features(x)
        return MultivariateNormal(self.mean_module(x), self.covar_module(noticed))


def tasks(count: int) -> Wrap:
    """Independent outputs."""
    return lambda strategy: IndependentMultitaskVariationalStrategy(strategy, num_tasks=count)


def mixed(count: int, latents: int) -> Wrap:
    """Outputs that are mixes of latent functions."""
    return lambda strategy: LMCVariationalStrategy(strategy, num_tasks=count, num_latents=latents)
