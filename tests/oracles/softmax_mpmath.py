"""E softmax(f), f_j ~ N(m_j, v_j) independent, in extended precision, by roads that share no code with gplens.

- extended: nested quadrature over every f_j, C = 2 or 3. No Gumbel variable: (3.2) to (3.4) are on trial.
- grouped: (3.2) for classes that come in a few kinds: C = 1000 is as cheap as C = 2.
- logistic_normal: E sigmoid(f).
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np

from oracles.softmax import Numbers, Triple

Kinds = Sequence[tuple[Any, Any]]

DIGITS = 30


def extended(m: Numbers, v: Numbers) -> Triple:
    """E S, E dS_c/df_j and 1/2 E d^2S_c/df_j^2 to 15 digits, from the moments E S_c, E S_c S_j and E S_c S_j^2."""
    C = len(m)
    with mp.workdps(20):
        first, second, third = (np.full(shape, mp.mpf(0)) for shape in ((C,), (C, C), (C, C)))
        for w, S in points(m, v):
            for c in range(C):
                weighted = w * S[c]
                first[c] += weighted
                for j in range(C):
                    second[c, j] += (pair := weighted * S[j])
                    third[c, j] += pair * S[j]
        diagonal = np.diag(first)
        by_v = (diagonal - 2 * np.diag(np.diag(second)) - second + 2 * third) / 2
    return Triple(*(part.astype(float) for part in (first, diagonal - second, by_v)))


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
