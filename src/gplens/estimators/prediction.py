"""m and v of a fitted model at many rows, in blocks: GPyTorch's prediction without its joint covariance."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.models import Exact, Sparse
from gplens.estimators.training.bound import Gaussian, features

BLOCK = 2000
"""Rows at once."""

Moments = tuple[Float[Tensor, "b c"], Float[Tensor, "b c"]]


@torch.inference_mode(False)
@torch.no_grad()
def marginals(model: Exact | Sparse, X: Float[Tensor, "b d"]) -> Moments:
    """Of every latent function, at every row."""
    of = _exact(model) if isinstance(model, Exact) else _sparse(model)
    both = [of(rows) for rows in X.split(BLOCK)]
    return torch.cat([m for m, _ in both]), torch.cat([v for _, v in both])


def _sparse(model: Sparse) -> Callable[[Tensor], Moments]:
    q = Gaussian.of(model)

    def of(X: Float[Tensor, "b d"]) -> Moments:
        m, v = q.marginals(features(model, X))
        return m.T, v.T

    return of


def _exact(model: Exact) -> Callable[[Tensor], Moments]:
    host: Any = model
    kernel, mean, Z = host.covar_module, host.mean_module, host.train_inputs[0]
    K = kernel(Z).to_dense() + host.likelihood.noise * torch.eye(len(Z), dtype=Z.dtype)
    L = torch.linalg.cholesky(K)
    beta = torch.cholesky_solve((host.train_targets - mean(Z))[:, None], L)

    def of(X: Float[Tensor, "b d"]) -> Moments:
        k = kernel(X, Z).to_dense()
        w = torch.linalg.solve_triangular(L, k.mT, upper=False)
        return mean(X)[:, None] + k @ beta, (kernel(X, diag=True) - w.square().sum(0))[:, None]

    return of
