"""Gaussian processes written down naively: pairwise formulas, dense algebra, gradients by autograd.

Nothing here imports gplens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
import torch
from scipy.integrate import quad_vec
from scipy.special import roots_legendre
from torch import Tensor

Naive = Callable[[Tensor, Tensor], Tensor]
"""k(x, z) of vectors in the last axis; the other axes broadcast."""
Scalar = Callable[[Tensor], Tensor]
"""A function of one vector."""


def matrix(k: Naive, X: Tensor, Z: Tensor) -> Tensor:
    return k(X[:, None], Z[None])


def gradient(function: Scalar, x: Tensor) -> Tensor:
    """The gradient of a sum of outputs, by autograd; zero where nothing depends on x."""
    with torch.enable_grad():
        x = x.detach().clone().requires_grad_()
        total = function(x).sum()
        if not total.requires_grad:
            return torch.zeros_like(x)
        return torch.autograd.grad(total, x)[0]


@dataclass
class DensePosterior:
    """m = mu + k beta and v = k(x,x) - k A k for one latent function, with A as the dense matrix."""

    k: Naive
    Z: Tensor
    beta: Tensor
    A: Tensor
    mu: Scalar = lambda x: torch.zeros_like(x[..., 0])

    def m(self, x: Tensor) -> Tensor:
        return self.mu(x) + (self.k(x[..., None, :], self.Z) * self.beta).sum(-1)

    def v(self, x: Tensor) -> Tensor:
        return self.c(x, x)

    def c(self, x: Tensor, y: Tensor) -> Tensor:
        kx, ky = self.k(x[..., None, :], self.Z), self.k(y[..., None, :], self.Z)
        return self.k(x, y) - torch.einsum("...i,ij,...j->...", kx, self.A, ky)


def fit(k: Naive, Z: Tensor, y: Tensor, noise: float) -> DensePosterior:
    """Exact regression: A = (K + noise I)^-1, beta = A y."""
    A = torch.linalg.inv(matrix(k, Z, Z) + noise * torch.eye(len(Z), dtype=Z.dtype))
    A = (A + A.T) / 2
    return DensePosterior(k, Z, A @ y, A)


def expectation(g: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """E g(f), f ~ N(m, v): the trapezoid rule in z, |z| < 10, step 1/40. Differentiable in m and in v > 0.

    For the sigmoid the rule's error is exp(-2 pi (pi/sd) 40): none to sd = 20.
    """
    z = torch.linspace(-10, 10, 801, dtype=torch.float64)
    weights = torch.exp(-(z**2) / 2) / sqrt(2 * pi) / 40
    return lambda m, v: g(m[..., None] + v[..., None].sqrt() * z) @ weights


def phi(f: Tensor) -> Tensor:
    return 0.5 * torch.erfc(-f / sqrt(2))


def softplus(f: Tensor) -> Tensor:
    return torch.log1p(torch.exp(-f.abs())) + f.clamp(min=0)


def panels(count: int) -> tuple[Tensor, Tensor]:
    """Nodes and weights on [0, 1]: scipy's Gauss-Legendre rule of 24 nodes on so many panels."""
    x, w = roots_legendre(24)
    panel = np.arange(count)[:, None]
    t, weights = (panel + (x + 1) / 2) / count, np.tile(w / 2 / count, (count, 1))
    return torch.as_tensor(t.ravel()), torch.as_tensor(weights.ravel())


def integrated_gradient(T: Scalar, x: Tensor, x0: Tensor, count: int = 8) -> Tensor:
    """d_k int d_k T(x0 + t d) dt of one row: an autograd gradient, summed over many panels."""
    d, (t, w) = x - x0, panels(count)
    return d * (w @ gradient(T, x0 + t[:, None] * d))


def adaptive_integrated_gradient(T: Scalar, x: Tensor, x0: Tensor) -> Tensor:
    """The same by scipy's adaptive vector quadrature."""
    d = x - x0
    value, _ = quad_vec(lambda t: gradient(T, x0 + t * d).numpy(), 0, 1, epsabs=1e-10, epsrel=1e-10, limit=40)
    return d * torch.as_tensor(value)
