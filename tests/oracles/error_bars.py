"""Draws of (f, grad f) on a path and the variance of a change, by naive dense algebra. Nothing here imports gplens."""

from collections.abc import Callable
from math import pi, sqrt

import numpy as np
import torch
from scipy.special import roots_legendre
from torch import Tensor

from oracles.dense import DensePosterior

Function = Callable[[Tensor], Tensor]


def legendre(order: int) -> tuple[Tensor, Tensor]:
    """Nodes and weights on [0, 1]."""
    x, w = roots_legendre(order)
    return torch.as_tensor((x + 1) / 2), torch.as_tensor(w / 2)


def variance_of_change(
    m: Tensor, C: Tensor, g: Function, step: float = 1 / 16, reach: float = 14
) -> tuple[Tensor, Tensor]:
    """Var and E of g(f_1) - g(f_0) for f ~ N(m, C) in two dimensions, by the trapezoid rule in both.

    The covariance is factored as a sum and a difference, which keeps f_1 = f_0 where C says so.
    """
    z = torch.arange(-reach, reach + step / 2, step, dtype=torch.float64)
    w = step * torch.exp(-(z**2) / 2) / sqrt(2 * pi)
    size, vectors = torch.linalg.eigh(C)
    root = vectors * size.clamp(min=0).sqrt()
    f = [m[i] + root[i, 0] * z[:, None] + root[i, 1] * z for i in (0, 1)]
    change, W = g(f[0]) - g(f[1]), w[:, None] * w
    mean = (W * change).sum()
    return (W * (change - mean) ** 2).sum(), mean


def moments(dense: DensePosterior, X: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and covariance of f at points."""
    return dense.m(X), dense.c(X[:, None], X[None])


def joint_moments(dense: DensePosterior, X: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and covariance of (f, d_1 f, ..., d_d f) at points, as (q, 1 + d) and (q, 1 + d, q, 1 + d), by autograd."""
    q, d = X.shape
    x, y = (X[:, None].expand(q, q, d).clone().requires_grad_(), X[None].expand(q, q, d).clone().requires_grad_())
    with torch.enable_grad():
        points = X.clone().requires_grad_()
        m = dense.m(points)
        m_k = torch.autograd.grad(m.sum(), points)[0]
        c = dense.c(x, y)
        by_x, by_y = torch.autograd.grad(c.sum(), (x, y), create_graph=True)
        mixed = torch.stack([torch.autograd.grad(by_x[..., k].sum(), y, retain_graph=True)[0] for k in range(d)], 2)
    C = torch.zeros(q, 1 + d, q, 1 + d, dtype=X.dtype)
    C[:, 0, :, 0], C[:, 1:, :, 0], C[:, 0, :, 1:] = c.detach(), by_x.detach().movedim(2, 1), by_y.detach()
    C[:, 1:, :, 1:] = mixed.movedim(2, 1)
    return torch.cat([m[:, None], m_k], 1).detach(), C


def path_draws(
    dense: DensePosterior, x: Tensor, x0: Tensor, count: int, seed: int, order: int = 20
) -> tuple[Tensor, Tensor]:
    """Draws of f (s, q) and d_k grad_k f (s, q, d) at Gauss-Legendre nodes, by a dense eigendecomposition."""
    t, _ = legendre(order)
    mean, C = joint_moments(dense, x0 + t[:, None] * (x - x0))
    size, vectors = torch.linalg.eigh(C.reshape(mean.numel(), -1))
    assert float(size[0]) > -1e-9 * float(size[-1]), "not a covariance"
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(count, len(size), generator=g, dtype=torch.float64)
    drawn = mean + (z @ (vectors * size.clamp(min=0).sqrt()).T).reshape(count, *mean.shape)
    return drawn[..., 0], drawn[..., 1:] * (x - x0)


def derivative(g: Function, f: Tensor) -> Tensor:
    """g', by autograd."""
    with torch.enable_grad():
        f = f.detach().requires_grad_()
        return torch.autograd.grad(g(f).sum(), f)[0]


def attribution_draws(
    dense: DensePosterior, g: Function, x: Tensor, x0: Tensor, count: int, seed: int, order: int = 20
) -> Tensor:
    """Draws of IG_k = d_k sum_q w_q g'(f_q) d_k f_q."""
    f, slopes = path_draws(dense, x, x0, count, seed, order)
    w = legendre(order)[1]
    return torch.einsum("sq,sqd->sd", w * derivative(g, f), slopes)


def assert_mean(draws: Tensor, expected: Tensor, errors: float = 4) -> None:
    """The mean over the first axis is the expected one within so many of its standard errors."""
    error = draws.std(0) / sqrt(len(draws))
    off = (draws.mean(0) - expected).abs()
    assert bool((off <= errors * error + 1e-12).all()), (off / error).max()


def assert_moments(draws: Tensor, values: Tensor, covariance: Tensor, errors: float = 4) -> None:
    """Means, variances and covariances of draws (s, d) within so many standard errors."""
    assert_mean(draws, values, errors)
    centred = draws - values
    assert_mean(centred[:, :, None] * centred[:, None], covariance, errors)


def quantiles(draws: Tensor, levels: tuple[float, ...]) -> Tensor:
    """numpy's, over the first axis."""
    return torch.as_tensor(np.quantile(draws.numpy(), levels, axis=0))


def linear_moments_of_rows(dense: DensePosterior, X: Tensor, X0: Tensor, order: int = 16) -> tuple[Tensor, Tensor]:
    """Mean (b d) and covariance (b d, b d) of the attributions of f itself, of all rows together."""
    t, w = legendre(order)
    (b, d), points = X.shape, (X0[:, None] + t[:, None] * (X - X0)[:, None]).flatten(0, 1)
    mean, C = joint_moments(dense, points)
    weights = torch.zeros(b, d, b, order, 1 + d, dtype=X.dtype)
    for i in range(b):
        for k in range(d):
            weights[i, k, i, :, 1 + k] = w * (X - X0)[i, k]
    W = weights.reshape(b * d, -1)
    return W @ mean.flatten(), W @ C.reshape(W.shape[1], -1) @ W.T


def attribution_draws_of_rows(
    dense: DensePosterior, g: Function, X: Tensor, X0: Tensor, count: int, seed: int, order: int = 12
) -> Tensor:
    """Draws (s, b, d) of the attributions of all rows, of one function f each."""
    t, w = legendre(order)
    points = (X0[:, None] + t[:, None] * (X - X0)[:, None]).flatten(0, 1)
    mean, C = joint_moments(dense, points)
    size, vectors = torch.linalg.eigh(C.reshape(mean.numel(), -1))
    z = torch.randn(count, len(size), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    drawn = mean + (z @ (vectors * size.clamp(min=0).sqrt()).T).reshape(count, *mean.shape)
    f, slopes = (part.unflatten(1, (len(X), order)) for part in (drawn[..., 0], drawn[..., 1:]))
    return torch.einsum("sbq,sbqd->sbd", w * derivative(g, f), slopes) * (X - X0)
