"""E softmax(f), f_j ~ N(m_j, v_j) independent, by roads that share no code with gplens.

- extended: nested quadrature over every f_j in mpmath, C = 2 or 3. No Gumbel variable: (3.2) to (3.4) are on trial.
- nested: the same in float64, for two and three wide classes at once.
- dense: (3.2) to (3.4) in their product form, one step for all, no change of variable, no ratios, in numpy.
- grouped: (3.2) in mpmath for classes that come in a few kinds: C = 1000 is as cheap as C = 2.
- logistic_normal: E sigmoid(f) in mpmath.
- draws: sample means with their standard errors.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]
Numbers = Sequence[Any] | Array
Kinds = Sequence[tuple[Any, Any]]

DIGITS = 30


class Triple(NamedTuple):
    """E S_c, and the derivatives at [c, j]."""

    value: Array
    by_m: Array
    by_v: Array


def extended(m: Numbers, v: Numbers) -> Triple:
    """E S, E dS_c/df_j and 1/2 E d^2S_c/df_j^2 to 15 digits, from the moments E S_c, E S_c S_j and E S_c S_j^2."""
    C = len(m)
    with mp.workdps(20):
        one, two, three = (np.full(shape, mp.mpf(0)) for shape in ((C,), (C, C), (C, C)))
        for w, S in points(m, v):
            for c in range(C):
                weighted = w * S[c]
                one[c] += weighted
                for j in range(C):
                    two[c, j] += (pair := weighted * S[j])
                    three[c, j] += pair * S[j]
        own = np.diag(one)
        by_v = (own - 2 * np.diag(np.diag(two)) - two + 2 * three) / 2
    return Triple(*(part.astype(float) for part in (one, own - two, by_v)))


def extended_value(m: Numbers, v: Numbers, nodes: Numbers, which: int = 0) -> mp.mpf:
    """E S of one class; the nodes are those for the variances `nodes`, so that differences see one rule."""
    return mp.fsum(w * S[which] for w, S in points(m, v, nodes))


def points(m: Numbers, v: Numbers, nodes: Numbers | None = None) -> Iterator[tuple[mp.mpf, list[mp.mpf]]]:
    """Weights and softmax at the nodes of the product rule; weights below 1e-19 are left out."""
    axes = []
    for m_j, v_j, rule in zip(m, v, v if nodes is None else nodes, strict=True):
        m_j, sd = mp.mpf(m_j), mp.sqrt(mp.mpf(v_j))
        axes.append([(mp.exp(m_j + sd * z), w) for z, w in normal_rule(float(rule), mp.mp.dps)])
    for node in product(*axes):
        w = mp.fprod(w for _, w in node)
        if w > 1e-19:
            total = mp.fsum(e for e, _ in node)
            yield w, [e / total for e, _ in node]


@cache
def normal_rule(v: float, digits: int) -> list[tuple[mp.mpf, mp.mpf]]:
    """Nodes z and weights: one, three of Gauss-Hermite (error v^3), or a trapezoid with steps of 0.5 in f."""
    with mp.workdps(digits):
        if v == 0:
            return [(mp.mpf(0), mp.mpf(1))]
        if v < 1e-10:
            return [(-mp.sqrt(3), mp.mpf(1) / 6), (mp.mpf(0), mp.mpf(2) / 3), (mp.sqrt(3), mp.mpf(1) / 6)]
        step = min(mp.mpf("0.45"), mp.mpf("0.5") / mp.sqrt(v))
        count = int(mp.mpf("8.7") / step)
        z = [k * step for k in range(-count, count + 1)]
        return [(z_k, step * mp.npdf(z_k)) for z_k in z]


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


def grouped(kinds: Kinds, counts: Sequence[int], which: int = 0) -> mp.mpf:
    """E S of one class of kind `which` for counts[k] classes N(m, v) = kinds[k]; step 0.25.

    The ranges leave out less than 1e-26, so that differences over 1e-8 stay clean.
    """
    with mp.workdps(DIGITS):
        kinds = [(mp.mpf(m), mp.mpf(v)) for m, v in kinds]
        low = max(m - 11 * mp.sqrt(v) for m, v in kinds) - 4.2
        high = max(m + max(11 * mp.sqrt(v), v / 2 + 60) for m, v in kinds)
        nodes = range(int(4 * low), int(4 * high) + 1)
        return mp.fsum(integrand(mp.mpf(k) / 4, kinds, counts, which) for k in nodes) / 4


def integrand(s: mp.mpf, kinds: Kinds, counts: Sequence[int], which: int) -> mp.mpf:
    """L_c' prod_{j != c} L_j."""
    pairs = [gumbel_gauss_mp(s, m, v) for m, v in kinds]
    powers = [L ** (n - (k == which)) for k, ((L, _), n) in enumerate(zip(pairs, counts, strict=True))]
    return pairs[which][1] * mp.fprod(powers)


@cache
def gumbel_gauss_mp(s: mp.mpf, m: mp.mpf, v: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """L and L' of one class in extended precision."""
    if v == 0:
        x = mp.exp(m - s)
        return mp.exp(-x), x * mp.exp(-x)
    step = mp.mpf("0.25") / max(1, mp.sqrt(v))
    L = D = mp.mpf(0)
    for k in range(int(-11 / step), int(11 / step) + 1):
        x = mp.exp(m + mp.sqrt(v) * k * step - s)
        if x < 60:
            term = mp.exp(-((k * step) ** 2) / 2 - x)
            L, D = L + term, D + x * term
    return step * L / mp.sqrt(2 * mp.pi), step * D / mp.sqrt(2 * mp.pi)


def logistic_normal(m: Any, v: Any) -> mp.mpf:
    """E sigmoid(f), f ~ N(m, v), by a trapezoid over z: step 0.2 in f, aliasing exp(-2 pi^2/0.2)."""
    with mp.workdps(DIGITS):
        m, sd = mp.mpf(m), mp.sqrt(mp.mpf(v))
        step = mp.mpf("0.2") / max(1, sd)
        terms = ((k * step) for k in range(int(-12 / step), int(12 / step) + 1))
        total = mp.fsum(mp.exp(-z * z / 2) / (1 + mp.exp(-m - sd * z)) for z in terms)
        return step * total / mp.sqrt(2 * mp.pi)


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
