"""The parts of the ELBO of a sparse model: marginals of f for a batch, and KL(q(u) || p(u)), whitened."""

from dataclasses import dataclass
from typing import Any, final

import torch
from gpytorch.kernels import RQKernel
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.gp_models import Sparse, profile_name
from gplens.estimators.training.kernel_values import profile, squared_distances


@final
@dataclass(frozen=True)
class Features:
    """phi(x) = L^-1 k(Z,x) of a batch, in which the model is linear:  f = mu + phi' u + rest,  u ~ q."""

    phi: Float[Tensor, "#c b n"]
    prior: Float[Tensor, "#c b"]
    """k(x,x) + jitter."""
    mu: Float[Tensor, "#c b"]

    def in_parts(self, size: int) -> list[tuple[slice, "Features"]]:
        """Parts of at most so many rows, without gradients, with the place of each."""
        count = self.phi.shape[-2]
        places = [slice(start, min(start + size, count)) for start in range(0, count, size)]
        phi, prior, mu = self.phi.detach(), self.prior.detach(), self.mu.detach()
        return [(rows, Features(phi[..., rows, :], prior[..., rows], mu[..., rows])) for rows in places]


@final
@dataclass(frozen=True)
class Gaussian:
    """q(u) = N(a, B) with B = root' root."""

    a: Float[Tensor, "c n"]
    root: Float[Tensor, "c n n"]

    @staticmethod
    def of(model: Sparse) -> "Gaussian":
        """The q(u) of a GPyTorch model:  B = TT' with T the lower triangle of its parameter."""
        a, T = model.q.variational_mean, model.q.chol_variational_covar.tril()
        return Gaussian(a.reshape(-1, a.shape[-1]), T.reshape(-1, *T.shape[-2:]).mT)

    def divergence(self) -> Float[Tensor, ""]:
        """KL(q || N(0, I)), summed over the latent functions."""
        log_det = 2 * self.root.diagonal(dim1=-2, dim2=-1).abs().log().sum()
        return (self.root.square().sum() + self.a.square().sum() - self.a.numel() - log_det) / 2

    def marginals(self, features: Features) -> tuple[Float[Tensor, "c b"], Float[Tensor, "c b"]]:
        """The moments of f:  m = mu + phi' a,  v = k(x,x) - phi' (I - B) phi."""
        phi = features.phi
        m = features.mu + (phi @ self.a[..., None])[..., 0]
        v = features.prior - phi.square().sum(-1) + (phi @ self.root.mT).square().sum(-1)
        return m, v


def features(model: Sparse, X: Float[Tensor, "b d"]) -> Features:
    """phi, prior variance and prior mean of the rows X. K is factorised in float64 for models of any dtype."""
    kernel: Any = model.covar_module
    Z, jitter = model.strategy.inducing_points, model.strategy.jitter_val
    Z = Z if Z.ndim == 3 else Z[None]
    K = covariance(kernel, Z, Z).double()
    eye = torch.eye(K.shape[-1], dtype=torch.float64)
    F = torch.linalg.solve_triangular(torch.linalg.cholesky(K + jitter * eye), eye.expand_as(K), upper=False)
    phi = covariance(kernel, X[None], Z) @ F.to(X.dtype).mT
    prior = (kernel.outputscale.reshape(-1, 1) + jitter).expand(-1, len(X))
    return Features(phi, prior, torch.as_tensor(model.mean_module(X))[None])


def covariance(kernel: Any, X: Float[Tensor, "#k n d"], Z: Float[Tensor, "k m d"]) -> Float[Tensor, "k n m"]:
    """k(X, Z) of a scaled kernel of GPyTorch, in fewer passes over the matrix than its own."""
    base = kernel.base_kernel
    lengthscale = base.lengthscale.reshape(-1, 1, base.lengthscale.shape[-1])
    alpha = base.alpha.reshape(-1) if isinstance(base, RQKernel) else None
    r2 = squared_distances(X / lengthscale, Z / lengthscale)
    return kernel.outputscale.reshape(-1, 1, 1) * profile(profile_name(base), r2, alpha)
