"""The paper's list of symbols (Appendix A) for the example: a sparse variational GP with closed derivatives (numpy)."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial.hermite import hermgauss
from paper_example import LENGTH, THETA, C, N, X, Y, Z


def k(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    return THETA * np.exp(-np.sum((x - z) ** 2, -1) / (2 * LENGTH**2))


def k_first(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """d k(x, z) / d x_k: features last."""
    return -(x - z) / LENGTH**2 * k(x, z)[..., None]


def k_second(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """d k(x, z) / d z_k: features last."""
    return (x - z) / LENGTH**2 * k(x, z)[..., None]


def k_both(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """d^2 k(x, z) / d x_k d z_k: features last."""
    return (1 / LENGTH**2 - (x - z) ** 2 / LENGTH**4) * k(x, z)[..., None]


def variational(j: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K, and the a, S of the optimal q(f_U) = N(a, S) at the inducing points Z."""
    K = k(Z[:, None], Z[None])
    S = np.linalg.inv(np.linalg.inv(K) + np.diag(1 / N[j]))
    return K, S @ (Y[j] / N[j]), S


class Moments(NamedTuple):
    """Of f(x) and d_k f(x): m, v, then per feature m_k, c_k = Cov(f, d_k f), w_k = Var(d_k f)."""

    m: float
    v: float
    m_k: np.ndarray
    c_k: np.ndarray
    w_k: np.ndarray


def moments(x: np.ndarray = X, j: int = 0) -> Moments:
    K, a, S = variational(j)
    A = np.linalg.inv(K) @ (K - S) @ np.linalg.inv(K)
    u, u_k = k(x, Z), k_first(x, Z)
    beta = np.linalg.solve(K, a)
    return Moments(u @ beta, k(x, x) - u @ A @ u, beta @ u_k, -(u @ A @ u_k), k_both(x, x) - ((A @ u_k) * u_k).sum(0))


class Latents(NamedTuple):
    """The moments of the C latent functions: m and v (C,), m_k and c_k (C, d)."""

    m: np.ndarray
    v: np.ndarray
    m_k: np.ndarray
    c_k: np.ndarray


def latents() -> Latents:
    each = [moments(X, j) for j in range(C)]
    return Latents(*(np.array([getattr(latent, name) for latent in each]) for name in Latents._fields))


class Softmax(NamedTuple):
    """S_c, its gradient and its Hessian (C.5, printed right), of class c at logits f."""

    value: float
    gradient: np.ndarray
    hessian: np.ndarray


def softmax(f: np.ndarray, c: int) -> Softmax:
    S = np.exp(f - f.max())
    S /= S.sum()
    unit = np.eye(len(f))[c]
    first = S[c] * (unit - S)
    return Softmax(S[c], first, np.outer(unit - S, first) - S[c] * (np.diag(S) - np.outer(S, S)))


def regression(q: Latents, j: int, i: int) -> np.ndarray:
    """The row Sigma of C.5 for y = d_i f_j: only entry j is not zero."""
    return np.eye(C)[j] * q.c_k[j, i] / q.v[j]


def expectation(integrand: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """E integrand(f) over the C independent latents, f of shape (nodes, C), values of shape (nodes, ...)."""
    q = latents()
    z, w = hermgauss(40)
    f = q.m + np.sqrt(2 * q.v) * np.stack(np.meshgrid(*[z] * C, indexing="ij"), -1).reshape(-1, C)
    weight = np.stack(np.meshgrid(*[w] * C, indexing="ij"), -1).reshape(-1, C).prod(-1) / math.pi ** (C / 2)
    return np.tensordot(weight, integrand(f), 1)
