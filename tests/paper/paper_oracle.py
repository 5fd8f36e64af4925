"""What is true of the example: exact GP regression, derivatives by autograd, expectations by Gauss-Hermite (torch)."""

import math
from collections.abc import Callable

import numpy as np
import torch
from paper_example import LENGTH, THETA, X0, C, N, X, Y, Z
from scipy.special import roots_hermite
from torch import Tensor
from torch.func import grad, jacrev

Function = Callable[[Tensor], Tensor]


def tensor(values: np.ndarray) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def prior(x: Tensor, z: Tensor) -> Tensor:
    return THETA * torch.exp(-0.5 * ((x[:, None] - z[None]) ** 2).sum(-1) / LENGTH**2)


def mean(x: Tensor, j: int = 0) -> Tensor:
    """The posterior mean of latent function j."""
    G = prior(tensor(Z), tensor(Z)) + torch.diag(tensor(N[j]))
    return prior(x[None], tensor(Z))[0] @ torch.linalg.solve(G, tensor(Y[j]))


def covariance(x: Tensor, y: Tensor, j: int = 0) -> Tensor:
    """The posterior covariance of f_j(x) and f_j(y)."""
    G = prior(tensor(Z), tensor(Z)) + torch.diag(tensor(N[j]))
    explained = prior(x[None], tensor(Z))[0] @ torch.linalg.solve(G, prior(tensor(Z), y[None])[:, 0])
    return prior(x[None], y[None])[0, 0] - explained


def variance(x: Tensor, j: int = 0) -> Tensor:
    return covariance(x, x, j)


def derivative_covariance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Cov(d_k f(x), d_k f(y)) for every feature k."""
    mixed = jacrev(jacrev(covariance, 0), 1)(tensor(x), tensor(y))
    return torch.diag(mixed).numpy()


def response(g: Function) -> Function:
    """x -> E g(f(x)), 150 Gauss-Hermite nodes."""
    z, w = (tensor(values) for values in roots_hermite(150))
    return lambda x: (w * g(mean(x) + torch.sqrt(2 * variance(x)) * z)).sum() / math.sqrt(math.pi)


def latent_grid(m: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes (n, C) and weights (n,) of N(m, diag v): 40 Gauss-Hermite nodes for each latent function."""
    z, w = (tensor(values) for values in roots_hermite(40))
    f = torch.stack(torch.meshgrid(*(m[j] + torch.sqrt(2 * v[j]) * z for j in range(C)), indexing="ij"), -1)
    return f.reshape(-1, C), (w[:, None, None] * w[:, None] * w).reshape(-1) / math.pi ** (C / 2)


def latents(x: Tensor) -> tuple[Tensor, Tensor]:
    """m and v of all the latent functions."""
    return torch.stack([mean(x, j) for j in range(C)]), torch.stack([variance(x, j) for j in range(C)])


def class_probability(x: Tensor, c: int) -> Tensor:
    """E S_c(F(x))."""
    f, weight = latent_grid(*latents(x))
    return (weight * torch.softmax(f, -1)[..., c]).sum()


def expanded_probability(x: Tensor, c: int) -> Tensor:
    """S_c(m) + 1/2 sum_j v_j d_j^2 S_c(m): its gradient in x is what the softmax row approximates by."""
    m, v = latents(x)
    second = torch.diag(hessian(lambda f: torch.softmax(f, -1)[c])(m))
    return torch.softmax(m, -1)[c] + 0.5 * v @ second


def second_order(term: Function, m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """E term(f) to the second order: term(m) + 1/2 sum_j v_j d_j^2 term(m)."""
    return (term(tensor(m)) + 0.5 * tensor(v) @ torch.diag(hessian(term)(tensor(m)))).numpy()


def hessian(function: Function) -> Function:
    return jacrev(grad(function))


def gradient(function: Function, x: np.ndarray = X) -> np.ndarray:
    return grad(function)(tensor(x)).numpy()


def attributions(row: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """IG_k from X0 to X of the gradient `row`, 24 Gauss-Legendre nodes."""
    t, w = np.polynomial.legendre.leggauss(24)
    return (X - X0) * sum(wq / 2 * row(X0 + (1 + tq) / 2 * (X - X0)) for tq, wq in zip(t, w, strict=True))


def attribution_variances(kernel: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Var IG_k of the latent function from X0 to X: the kernel of its derivatives over pairs of 12 nodes."""
    t, w = np.polynomial.legendre.leggauss(12)
    nodes = [(wq / 2, X0 + (1 + tq) / 2 * (X - X0)) for tq, wq in zip(t, w, strict=True)]
    return (X - X0) ** 2 * sum(a * b * kernel(x, y) for a, x in nodes for b, y in nodes)
