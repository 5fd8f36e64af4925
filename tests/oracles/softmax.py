"""E softmax(f), f_j ~ N(m_j, v_j) independent, in float64, by three roads that share no code with gplens.

- nested: quadrature over every f_j, for two and three classes. No Gumbel variable: (3.2) to (3.4) are on trial.
- dense: (3.2) to (3.4) in their product form, one step for all, no change of variable, no ratios.
- draws: sample means with their standard errors.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]
Numbers = Sequence[Any] | Array


class Triple(NamedTuple):
    """E S_c, and its derivatives in m_j and v_j at [c, j]."""

    value: Array
    by_m: Array
    by_v: Array


def nested(m: Numbers, v: Numbers) -> Triple:
    """By a trapezoid over every f_j, which is analytic in |Im f| < pi: step 0.4."""
    m, sd = np.asarray(m, float), np.sqrt(np.asarray(v, float))
    axes = [normal_nodes(0.4 / max(b, 1.6)) if b else (np.zeros(1), np.ones(1)) for b in sd]
    f = np.stack(np.meshgrid(*(a + b * z for a, b, (z, _) in zip(m, sd, axes, strict=True)), indexing="ij"))
    w = np.ones(())
    for _, weights in axes:
        w = np.multiply.outer(w, weights)
    f, w = f.reshape(len(m), -1), w.reshape(-1)
    S = np.exp(f - f.max(0))
    S /= S.sum(0)
    G = S[:, None] * (np.eye(len(m))[:, :, None] - S[None])
    return Triple(S @ w, G @ w, 0.5 * (G * (1 - 2 * S[None])) @ w)


def normal_nodes(step: float) -> tuple[Array, Array]:
    """A trapezoid for N(z; 0, 1)."""
    z = step * np.arange(np.floor(-8.5 / step), np.ceil(8.5 / step) + 1)
    w = np.exp(-z * z / 2)
    return z, w / w.sum()


def dense(m: Numbers, v: Numbers, columns: Sequence[int] | None = None) -> Triple:
    """All classes, and columns of the Jacobians; step 0.25 in s and f: aliasing below exp(-pi^2/0.25) = 7e-18."""
    m, v = np.asarray(m, float) - np.max(m), np.asarray(v, float)
    columns = range(len(m)) if columns is None else columns
    s = np.arange((m - 8 * np.sqrt(v)).max() - 4, (m + np.maximum(8 * np.sqrt(v), v / 2 + 40)).max(), 0.25)
    L, D, Q = np.stack([gumbel_gauss(s, a, b) for a, b in zip(m, v, strict=True)], axis=1)
    by_m, by_v = np.zeros((len(m), len(columns))), np.zeros((len(m), len(columns)))
    for k, j in enumerate(columns):
        rest = np.delete(np.arange(len(m)), j)
        pair = D[rest] * leave_out(L[rest])
        by_m[rest, k], by_v[rest, k] = -0.25 * pair @ D[j], 0.125 * pair @ Q[j]
        by_m[j, k], by_v[j, k] = -by_m[:, k].sum(), -by_v[:, k].sum()
    return Triple(0.25 * (D * leave_out(L)).sum(1), by_m, by_v)


def leave_out(L: Array) -> Array:
    """prod_{i != j} L_i for every j, by products from both sides: no division."""
    ones = np.ones_like(L[:1])
    left = np.cumprod(np.concatenate([ones, L[:-1]]), axis=0)
    right = np.cumprod(np.concatenate([ones, L[:0:-1]]), axis=0)[::-1]
    return left * right


def gumbel_gauss(s: Array, m: float, v: float) -> Array:
    """L, L', L'' of one class by a trapezoid over z = (f - m)/sd."""
    z, w = normal_nodes(0.25 / max(1.0, np.sqrt(v)))
    x = np.exp(np.minimum(m + np.sqrt(v) * z - s[:, None], 6.7))  # exp(-exp(6.7)) is 0
    E = np.exp(-x)
    return np.stack([E @ w, (x * E) @ w, ((x * x - x) * E) @ w])


def draws(m: Tensor, v: Tensor, count: int, seed: int, chunk: int = 20_000) -> tuple[list[Tensor], list[Tensor]]:
    """Means over draws of f of S_c, S_c (d_cj - S_j) and S_c (d_cj - S_j)(1 - 2 S_j)/2, and their standard errors."""
    generator = torch.Generator().manual_seed(seed)
    same = torch.eye(len(m), dtype=torch.float64)
    size = len(m) * (1 + 2 * len(m))
    total, squares = torch.zeros(size, dtype=torch.float64), torch.zeros(size, dtype=torch.float64)
    for _ in range(count // chunk):
        z = torch.randn(len(m), chunk, generator=generator, dtype=torch.float64)
        S = torch.softmax(m[:, None] + v.sqrt()[:, None] * z, dim=0)
        G = S[:, None] * (same[:, :, None] - S)
        every = torch.cat([S, G.flatten(0, 1), (G * (0.5 - S)).flatten(0, 1)])
        total += every.sum(1)
        squares += torch.linalg.vecdot(every, every)
    mean = total / count
    error = torch.sqrt((squares / count - mean**2) / count)
    return split(mean, len(m)), split(error, len(m))


def split(flat: Tensor, C: int) -> list[Tensor]:
    """C values and two C x C matrices."""
    value, by_m, by_v = flat.split([C, C * C, C * C])
    return [value, by_m.view(C, C), by_v.view(C, C)]
