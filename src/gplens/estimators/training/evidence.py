"""The evidence of an exact model, log N(y; mu, K + noise), with its gradient from one Cholesky factor (6.1), (6.2)."""

from math import log, pi
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.kernel_values import value_and_slope
from gplens.estimators.weights import Weights

BLOCK = 128
"""Rows whose part of a matrix is computed at once: up to 3,000 of them fit the cache of a core."""


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


@final
class _Evidence(torch.autograd.Function):
    """log N(y; mu, K + D) with its gradient in all parameters (6.2), both computed when the value is asked for.

    Only the lower triangle is computed, in blocks of rows that stay in the cache: of the kernel, and of the products
    of a a' - S^-1 with the slopes of the kernel. Then L-BFGS needs no matrix but S, its inverse and these slopes.
    """

    @staticmethod
    def forward(
        ctx: Any,
        log_lengthscale: Float[Tensor, " d"],
        log_outputscale: Float[Tensor, ""],
        mean: Float[Tensor, ""],
        noise: Float[Tensor, " n"],
        X: Float[Tensor, "n d"],
        y: Float[Tensor, " n"],
        name: str,
    ) -> Tensor:
        variance, r, n = log_outputscale.exp(), y - mean, len(y)
        scaled = X / log_lengthscale.exp()
        scaled -= scaled.mean(0)
        norms, S, slopes = scaled.square().sum(1), X.new_empty(n, n), X.new_empty(n, n)
        for rows, before in _lower_blocks(n):
            r2 = torch.addmm(norms[before], scaled[rows], scaled[before].mT, alpha=-2.0).add_(norms[rows, None])
            h, slopes[rows, before] = value_and_slope(r2, name)
            S[rows, before] = h.mul_(variance)
        S.diagonal().add_(noise)
        L = torch.linalg.cholesky(S)  # of the lower triangle
        a = torch.cholesky_solve(r[:, None], L)[:, 0]
        value = -(r @ a + n * log(2 * pi)) / 2 - L.diagonal().log().sum()
        if any(ctx.needs_input_grad):
            inverse = torch.cholesky_inverse(L)
            by_noise = (a.square() - inverse.diagonal()) / 2
            by_variance = (r @ a - n) / 2 - by_noise @ noise  # a'Ka and tr S^-1 K, with K = S - D
            by_lengthscale = _by_lengthscale(a, inverse, slopes, scaled).mul_(-variance)
            ctx.save_for_backward(by_lengthscale, by_variance, a.sum(), by_noise)
        return value

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return *(grads[0] * part for part in ctx.saved_tensors), None, None, None


def _by_lengthscale(
    a: Float[Tensor, " n"], inverse: Float[Tensor, "n n"], slopes: Float[Tensor, "n n"], scaled: Float[Tensor, "n d"]
) -> Float[Tensor, " d"]:
    """sum_ij M_ij (x_ik - x_jk)^2 of scaled rows, with M = (a a' - S^-1) h'."""
    sums, products = torch.zeros_like(a), scaled.new_zeros(scaled.shape[1])
    for rows, before in _lower_blocks(len(a)):
        M = torch.outer(a[rows], a[before]).sub_(inverse[rows, before]).mul_(slopes[rows, before])
        M[:, : rows.start] *= 2  # and what is above the diagonal
        sums[before] += M.sum(0)
        sums[rows] += M.sum(1)
        products += (scaled[rows] * (M @ scaled[before])).sum(0)
    return sums @ scaled.square() - 2 * products


def _lower_blocks(n: int) -> list[tuple[slice, slice]]:
    """Blocks of rows, each with the columns up to its last row."""
    ends = [*range(BLOCK, n, BLOCK), n]
    return [(slice(start, end), slice(end)) for start, end in zip([0, *ends], ends, strict=False)]


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
    evidence = _evidence(at, structure, every_row, X, y)
    if weights is None:
        return evidence
    return evidence - ((weights - 1).sum() * (log(2 * pi) + at.log_noise) + weights.log().sum()) / 2


def _evidence(
    at: Hyperparameters,
    structure: Structure,
    noise: Float[Tensor, " n"],
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
) -> Float[Tensor, ""]:
    """log N(y; mu, K + D)."""
    assert at.mean is not None
    if at.log_alpha is None:
        log_lengthscale = at.log_lengthscale[0, structure.place]
        value: Any = _Evidence.apply(log_lengthscale, at.log_outputscale[0], at.mean, noise, X, y, structure.kernel)
        return value
    S, r = at.covariance(structure, X, X[None])[0] + torch.diag(noise), y - at.mean
    L = torch.linalg.cholesky(S)
    whitened = torch.linalg.solve_triangular(L, r[:, None], upper=False)
    return -(whitened.square().sum() + len(y) * log(2 * pi)) / 2 - L.diagonal().log().sum()
