"""The GPyTorch models that the estimators fit."""

from collections.abc import Callable
from math import log
from typing import Any, final

import gpytorch.kernels as host
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean, Mean, ZeroMean
from gpytorch.models import ApproximateGP, ExactGP
from gpytorch.variational import (
    CholeskyVariationalDistribution,
    IndependentMultitaskVariationalStrategy,
    VariationalStrategy,
)
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.parametrize import is_parametrized, register_parametrization

KERNELS: dict[str, Callable[[int | None, torch.Size], host.Kernel]] = {
    "rbf": lambda d, batch: host.RBFKernel(ard_num_dims=d, batch_shape=batch),
    "matern32": lambda d, batch: host.MaternKernel(nu=1.5, ard_num_dims=d, batch_shape=batch),
    "matern52": lambda d, batch: host.MaternKernel(nu=2.5, ard_num_dims=d, batch_shape=batch),
    "rational_quadratic": lambda d, batch: host.RQKernel(ard_num_dims=d, batch_shape=batch),
}
"""Kernels by their names in `kernel=`. All depend on (x - z) / lengthscale, so that new units are new lengthscales."""


def profile_name(kernel: host.Kernel) -> str:
    """The name of a kernel without its scale, as in KERNELS."""
    if isinstance(kernel, host.MaternKernel):
        return {1.5: "matern32", 2.5: "matern52"}[kernel.nu]
    return "rbf" if isinstance(kernel, host.RBFKernel) else "rational_quadratic"


def kernel_of(name: str, lengthscales: int | None, kernels: int | None) -> host.ScaleKernel:
    """A scaled kernel with one lengthscale (None) or several, alone (None) or in a batch of so many kernels."""
    batch = torch.Size([] if kernels is None else [kernels])
    return host.ScaleKernel(KERNELS[name](lengthscales, batch), batch_shape=batch)


@final
class SharedLengthscales(torch.nn.Module):
    """A parametrisation in which sets of inputs, such as those of the categories of a column, share a lengthscale."""

    place: Int[Tensor, " d"]
    """The number of the lengthscale of each input."""
    first: Int[Tensor, " s"]
    """An input of each set."""

    def __init__(self, sharing: tuple[tuple[int, ...], ...]) -> None:
        super().__init__()
        place = torch.empty(sum(map(len, sharing)), dtype=torch.long)
        for number, members in enumerate(sharing):
            place[list(members)] = number
        self.register_buffer("place", place, persistent=False)
        self.register_buffer("first", torch.tensor([members[0] for members in sharing]), persistent=False)

    def forward(self, distinct: Float[Tensor, "*c 1 s"]) -> Float[Tensor, "*c 1 d"]:
        """The lengthscale of every input."""
        return distinct[..., self.place]

    def right_inverse(self, every: Float[Tensor, "*c 1 d"]) -> Float[Tensor, "*c 1 s"]:
        """One lengthscale for each set."""
        return every[..., self.first]


def share_lengthscales(kernel: host.ScaleKernel, sharing: tuple[tuple[int, ...], ...]) -> None:
    """Make sets of inputs share lengthscales while the kernel is trained; nothing if every set has one input."""
    if any(len(members) > 1 for members in sharing):
        register_parametrization(kernel.base_kernel, "raw_lengthscale", SharedLengthscales(sharing))


WIDTH = 3**0.5
"""Prior standard deviation of log lengthscales: two of them are a factor of 30 in either direction."""


def log_prior(kernel: Any, typical: float) -> Float[Tensor, ""]:
    """The log density of a log-normal prior of all lengthscales around the typical distance, up to a constant.

    Without it, lengthscales fitted to few rows may go to zero.
    """
    lengthscale = torch.as_tensor(kernel.base_kernel.lengthscale)
    if is_parametrized(kernel.base_kernel, "raw_lengthscale"):
        lengthscale = lengthscale[..., kernel.base_kernel.parametrizations.raw_lengthscale[0].first]
    deviation = lengthscale.log() - log(typical)
    return -(deviation**2).sum() / (2 * WIDTH**2)


def prior_mean(latents: int | None, constant: float) -> Mean:
    """Zero for several latent functions; for one (None) a constant, which is learnt."""
    if latents is not None:
        return ZeroMean()
    mean = ConstantMean().double()
    mean.initialize(constant=constant)
    return mean


@final
class Exact(ExactGP):
    """Exact inference with a Gaussian likelihood."""

    def __init__(
        self,
        X: Float[Tensor, "n d"],
        y: Float[Tensor, " n"],
        likelihood: GaussianLikelihood | FixedNoiseGaussianLikelihood,
        kernel: host.Kernel,
        mean: Mean,
    ) -> None:
        super().__init__(X, y, likelihood)
        self.mean_module, self.covar_module = mean, kernel

    def forward(self, x: Tensor):  # no return type: where Pyro is installed, beartype warns of its typing.Callable
        return MultivariateNormal(torch.as_tensor(self.mean_module(x)), self.covar_module(x))


@final
class Sparse(ApproximateGP):
    """Whitened variational inference; several latent functions share K unless the kernel has a batch of them."""

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
        strategy = VariationalStrategy(self, Z, q, jitter_val=jitter)
        torch.as_tensor(strategy.variational_params_initialized).fill_(1)  # else the first call overwrites q(u)
        if latents is not None:
            strategy = IndependentMultitaskVariationalStrategy(strategy, num_tasks=latents)
        super().__init__(strategy)
        self.mean_module, self.covar_module = mean, kernel

    def forward(self, x: Tensor):  # no return type: where Pyro is installed, beartype warns of its typing.Callable
        return MultivariateNormal(torch.as_tensor(self.mean_module(x)), self.covar_module(x))

    @property
    def strategy(self) -> Any:
        """The variational strategy that holds the inducing points, inside that for several latent functions."""
        outer: Any = self.variational_strategy
        return getattr(outer, "base_variational_strategy", outer)

    @property
    def q(self) -> Any:
        """The variational distribution: mean and Cholesky factor of the whitened q(u)."""
        return self.strategy._variational_distribution


def support_points(model: Any) -> Float[Tensor, "n d"]:
    """Training inputs of an exact model, inducing points of a sparse one."""
    if isinstance(model, Exact):
        inputs: Any = model.train_inputs
        return inputs[0]
    return model.strategy.inducing_points.flatten(0, -2)
