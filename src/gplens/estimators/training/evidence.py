"""The evidence of an exact model, log N(y; mu, K + noise), with its gradient from one Cholesky factor (6.1), (6.2)."""

from math import log, pi
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.weights import Weights


@final
class _LogNormal(torch.autograd.Function):
    """log N(r; 0, S) and its partials: dS has 1/2 (a a' - S^-1), dr has -a, with a = S^-1 r  (6.2)."""

    @staticmethod
    def forward(ctx: Any, S: Tensor, r: Tensor) -> Tensor:
        L = torch.linalg.cholesky(S)
        a = torch.cholesky_solve(r[:, None], L)[:, 0]
        ctx.save_for_backward(L, a)
        return -(r @ a + len(r) * log(2 * pi)) / 2 - L.diagonal().log().sum()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        L, a = ctx.saved_tensors
        inverse = torch.cholesky_inverse(L)
        return torch.addr(inverse, a, a, beta=-1.0).mul_(grads[0] / 2), -grads[0] * a


def log_normal_density(S: Float[Tensor, "n n"], r: Float[Tensor, " n"]) -> Float[Tensor, ""]:
    """log N(r; 0, S) by a Cholesky factor; its gradient costs one inverse."""
    density: Any = _LogNormal.apply(S, r)
    return density


@final
class _LogIntegral(torch.autograd.Function):
    """1/2 h' P^-1 h - 1/2 log |P|: dP has -1/2 (a a' + P^-1), dh has a, with a = P^-1 h  (6.11)."""

    @staticmethod
    def forward(ctx: Any, P: Tensor, h: Tensor) -> Tensor:
        R = torch.linalg.cholesky(P)
        a = torch.cholesky_solve(h[..., None], R)[..., 0]
        ctx.save_for_backward(R, a)
        return (h * a).sum() / 2 - R.diagonal(dim1=-2, dim2=-1).log().sum()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        R, a = ctx.saved_tensors
        outer = a[..., :, None] * a[..., None, :]
        return (outer + torch.cholesky_inverse(R)).mul_(-grads[0] / 2), grads[0] * a


def log_integral(P: Float[Tensor, "c m m"], h: Float[Tensor, "c m"]) -> Float[Tensor, ""]:
    """log of the integral of N(u; 0, I) exp(h' u - u' (P - I) u / 2), summed over latent functions (6.11)."""
    value: Any = _LogIntegral.apply(P, h)
    return value


def log_evidence(
    at: Hyperparameters,
    structure: Structure,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    weights: Weights = None,
) -> Float[Tensor, ""]:
    """log N(y; mu, K + noise I)  (6.1).

    A row that counts w times has the density N(y; f, noise)^w, which is N(y; f, noise/w) times
    (2 pi noise)^((1-w)/2) w^(-1/2).
    """
    assert at.log_noise is not None
    assert at.mean is not None
    noise = at.log_noise.exp()
    every_row = noise.expand(len(y)) if weights is None else noise / weights
    S = at.covariance(structure, X, X[None])[0] + torch.diag(every_row)
    evidence = log_normal_density(S, y - at.mean)
    if weights is None:
        return evidence
    return evidence - ((weights - 1).sum() * (log(2 * pi) + at.log_noise) + weights.log().sum()) / 2
