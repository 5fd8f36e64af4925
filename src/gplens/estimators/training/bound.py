"""The parts of the ELBO of a sparse model: marginals of f for a batch, and KL(q(u) || p(u)), whitened."""

from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.gp_models import Sparse


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
    K = kernel(Z).to_dense().double()
    eye = torch.eye(K.shape[-1], dtype=torch.float64)
    F = torch.linalg.solve_triangular(torch.linalg.cholesky(K + jitter * eye), eye.expand_as(K), upper=False)
    X = X.expand(*Z.shape[:-2], *X.shape)  # else GPyTorch mistakes the diagonal of as many rows as kernels for a matrix
    phi = kernel(X, Z).to_dense() @ F.to(X.dtype).mT
    prior, mu = kernel(X, diag=True) + jitter, torch.as_tensor(model.mean_module(X))
    return Features(_with_latents(phi, 3), _with_latents(prior, 2), _with_latents(mu, 2))


def _with_latents(tensor: Tensor, axes: int) -> Tensor:
    """The tensor with an axis of latent functions in front, of length one where they share a kernel."""
    return tensor if tensor.ndim == axes else tensor[None]
