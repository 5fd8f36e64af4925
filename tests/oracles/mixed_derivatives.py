"""Standard deviations of attributions from values alone: kernels and covariances of g(f), differentiated by autograd.

Var IG_k = 2 d_k^2 int_0^1 ds int_0^s dt d_k d_k' Cov(g(f(x_s)), g(f(x_t))). No formula for a gradient is written down,
and not (5.1). Nothing here imports gplens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi

import numpy as np
import torch
from scipy.special import roots_hermite, roots_legendre
from torch import Tensor

Kernel = Callable[[Tensor, Tensor], Tensor]
"""k of vectors in the last axis; the other axes broadcast."""
Covariance = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
"""Cov(g(f), g(f')) from m, m', v, v' and c, elementwise."""


def scaled_distance(x: Tensor, y: Tensor, scale: Tensor) -> Tensor:
    return (((x - y) / scale) ** 2).sum(-1)


def rbf(scale: Tensor) -> Kernel:
    return lambda x, y: torch.exp(-scaled_distance(x, y, scale) / 2)


def matern32(scale: Tensor) -> Kernel:
    def k(x: Tensor, y: Tensor) -> Tensor:
        s = (3 * scaled_distance(x, y, scale)).sqrt()
        return (1 + s) * torch.exp(-s)

    return k


def matern52(scale: Tensor) -> Kernel:
    def k(x: Tensor, y: Tensor) -> Tensor:
        s2 = 5 * scaled_distance(x, y, scale)
        return (1 + s2.sqrt() + s2 / 3) * torch.exp(-s2.sqrt())

    return k


def identity(m: Tensor, n: Tensor, v: Tensor, w: Tensor, c: Tensor) -> Tensor:
    return c


def exp(m: Tensor, n: Tensor, v: Tensor, w: Tensor, c: Tensor) -> Tensor:
    return torch.exp(m + n + (v + w) / 2) * torch.expm1(c)


def probit(m: Tensor, n: Tensor, v: Tensor, w: Tensor, c: Tensor) -> Tensor:
    """The integral over r from 0 to c of a bivariate normal density with covariance r (Plackett's identity)."""
    u, weights = (torch.as_tensor(part) for part in roots_legendre(24))
    r, a, b, m, n = c[..., None] * (u + 1) / 2, 1 + v[..., None], 1 + w[..., None], m[..., None], n[..., None]
    det = a * b - r**2
    density = torch.exp(-(b * m**2 - 2 * r * m * n + a * n**2) / (2 * det)) / (2 * pi * det.sqrt())
    return c / 2 * (density @ weights)


def sigmoid(m: Tensor, n: Tensor, v: Tensor, w: Tensor, c: Tensor) -> Tensor:
    """A product of two Gauss-Hermite rules. At a variance of 3 rules of 28 nodes leave 5e-5, rules of 60 nodes 1e-9."""
    z, weights = (torch.as_tensor(part) for part in roots_hermite(60))
    z, weights = z * 2**0.5, weights / pi**0.5
    f = m[..., None] + v.sqrt()[..., None] * z
    slope, rest = c / v.sqrt(), (w - c**2 / v).clamp(min=1e-14).sqrt()
    given = n[..., None, None] + slope[..., None, None] * z[:, None] + rest[..., None, None] * z
    left, right = torch.sigmoid(f), torch.sigmoid(given) @ weights
    return (left * right) @ weights - (left @ weights) * (right @ weights)


@dataclass
class Regression:
    """f given y at Z, with so much noise."""

    k: Kernel
    Z: Tensor
    y: Tensor
    noise: float

    def __post_init__(self) -> None:
        K = self.k(self.Z[:, None], self.Z) + self.noise * torch.eye(len(self.Z), dtype=torch.float64)
        self.A = torch.linalg.inv(K)
        self.beta = self.A @ self.y

    def deviations(self, covariance: Covariance, x: Tensor, x0: Tensor, edges: np.ndarray, order: int) -> Tensor:
        """Of all features, with so many nodes on the panels between the edges for s, and on those below each s."""
        s, t, weights = _triangle(edges, order)
        d, total = x - x0, torch.zeros_like(x)
        for first, second, w in zip(s.split(1000), t.split(1000), weights.split(1000), strict=True):
            total += w @ self._mixed(covariance, x0 + first[:, None] * d, x0 + second[:, None] * d)
        return (2 * d**2 * total).clamp(min=0).sqrt()

    def _mixed(self, covariance: Covariance, X: Tensor, Y: Tensor) -> Tensor:
        """d_k d_k' Cov at pairs of points, by reverse mode twice."""
        with torch.enable_grad():
            X, Y = X.clone().requires_grad_(), Y.clone().requires_grad_()
            kx, ky = self.k(X[:, None], self.Z), self.k(Y[:, None], self.Z)
            prior = float(self.k(self.Z[0], self.Z[0]))
            v, w = prior - ((kx @ self.A) * kx).sum(1), prior - ((ky @ self.A) * ky).sum(1)
            c = self.k(X, Y) - ((kx @ self.A) * ky).sum(1)
            value = covariance(kx @ self.beta, ky @ self.beta, v, w, c)
            (slope,) = torch.autograd.grad(value.sum(), X, create_graph=True)
            columns = [torch.autograd.grad(slope[:, k].sum(), Y, retain_graph=True)[0][:, k] for k in range(X.shape[1])]
        return torch.stack(columns, dim=1)


def _triangle(edges: np.ndarray, order: int) -> tuple[Tensor, Tensor, Tensor]:
    """Nodes (s, t) with t < s and their weights."""
    u, w = roots_legendre(order)
    u, w, parts = (u + 1) / 2, w / 2, []
    for panel, width in enumerate(np.diff(edges)):
        for node, weight in zip(u, w, strict=True):
            s = edges[panel] + width * node
            below = np.append(edges[: panel + 1], s)
            t = (below[:-1, None] + np.diff(below)[:, None] * u).ravel()
            parts.append((np.full_like(t, s), t, weight * width * (np.diff(below)[:, None] * w).ravel()))
    s, t, weights = (torch.as_tensor(np.concatenate(column)) for column in zip(*parts, strict=True))
    return s, t, weights
