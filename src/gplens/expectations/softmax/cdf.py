"""The cdf of a Gaussian plus a Gumbel variable and its two derivatives (3.1).

With x = exp(f - s), f ~ N(m, v):

    L   = E exp(-x),        L'  = E x exp(-x),        L'' = E (x^2 - x) exp(-x)      (3.1)

Two roads, by the standard deviation; both are positive sums, so L, L' >= 0 and L' is the derivative of L to
rounding.

- narrow: Gauss-Hermite over f. x = exp(f) exp(-s) is an outer product, one exponential per node.
- wide: a trapezoid over a lattice of f which all pairs (m, v) share. The Gumbel part is then one matrix for
  all pairs, the Gaussian part one row of weights per pair, and (3.1) a matrix product.
"""

from collections.abc import Iterator
from functools import cache
from math import ceil, log, pi, sqrt

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

Triple = Float[Tensor, "r 3 s"]
"""L, L', L'' of r pairs (m, v) at s nodes."""

HERMITE = {1: 1.30, 2: 1.00, 3: 0.90, 4: 0.83, 6: 0.74, 8: 0.68}
"""K Gauss-Hermite nodes hold L, L', L'' to epsilon for sd <= HERMITE[K] epsilon^(1/2K): the remainder is of
order sd^(2K). Recipe: bisection for that sd against a trapezoid of step sd/8, epsilon = 1e-6 ... 1e-14; the
smallest ratio, rounded down (scripts/softmax_constants.py hermite)."""

LATTICE_EDGES = (0.15, 0.2, 0.27, 0.36, 0.5)
"""Wide pairs are grouped at these standard deviations: the step of a lattice is that of the narrowest pair its group
could have, whichever it has, so that no result depends on its neighbours (scripts/softmax_constants.py edges)."""

TRUNCATION = 1000
"""Gaussian mass left out by a lattice, relative to epsilon: 1/1000. Where a wide class is only a far left
tail the lattice begins inside the integrals, and its first points look like classes of variance zero: their
size must not count."""


def cdf(s: Float[Tensor, " s"], m: Float[Tensor, " r"], v: Float[Tensor, " r"], epsilon: float) -> Triple:
    """L, L', L'' of (3.1) at the sorted nodes s, each to an absolute error of epsilon."""
    sd = v.sqrt()
    out = m.new_empty(len(m), 3, len(s))
    for road, rows in group(sd, epsilon):
        m_i, sd_i = m[rows], sd[rows]
        out[rows] = narrow(s, m_i, sd_i, road) if isinstance(road, int) else wide(s, m_i, sd_i, road, epsilon)
    return out


def group(sd: Float[Tensor, " r"], epsilon: float) -> Iterator[tuple[int | float, Int[Tensor, " k"]]]:
    """Groups of rows with one method: the number of Hermite nodes, or the smallest sd of a lattice; and the rows."""
    hermite_edges = [constant * epsilon ** (1 / (2 * nodes)) for nodes, constant in HERMITE.items()]
    lattice_edges = [edge for edge in LATTICE_EDGES if edge > hermite_edges[-1]]
    label = torch.bucketize(sd, sd.new_tensor(hermite_edges + lattice_edges))
    roads = [*HERMITE, hermite_edges[-1], *lattice_edges]
    rows = torch.argsort(label, stable=True).split(torch.bincount(label, minlength=len(roads)).tolist())
    yield from ((road, part) for road, part in zip(roads, rows, strict=True) if len(part))


@cache
def hermite(nodes: int) -> tuple[Tensor, Tensor]:
    """Nodes and weights of E h(z) = sum w h(z), z ~ N(0, 1)."""
    z, w = np.polynomial.hermite_e.hermegauss(nodes)
    return torch.from_numpy(z), torch.from_numpy(w / w.sum())


def narrow(s: Float[Tensor, " s"], m: Float[Tensor, " r"], sd: Float[Tensor, " r"], nodes: int) -> Triple:
    """(3.1) by Gauss-Hermite: sum_n w_n exp(-u_n exp(-s)), u_n = exp(m + sd z_n)."""
    z, w = hermite(nodes)
    decay = torch.exp(-s)
    out = m.new_zeros(len(m), 3, len(s))
    L, D, Q = out.unbind(1)
    for z_n, w_n in zip(z.tolist(), w.tolist(), strict=True):
        x = torch.exp(m + z_n * sd)[:, None] * decay
        term = torch.exp(-x).mul_(w_n)
        L += term
        D += term.mul_(x)
        Q += term.mul_(x)
    Q -= D
    return out


def wide(
    s: Float[Tensor, " s"], m: Float[Tensor, " r"], sd: Float[Tensor, " r"], narrowest: float, epsilon: float
) -> Triple:
    """(3.1) by a trapezoid over the lattice f_i = i h: a product of Gaussian weights and a Gumbel matrix.

    Lattice points more than log(1/epsilon) left of all s have L = 1 and L' = L'' = 0 to epsilon: their mass
    is collected in one column.
    """
    h = lattice_step(narrowest, epsilon)
    z = sqrt(2 * log(TRUNCATION / epsilon))
    cut = float(s[0]) - log(1 / epsilon)
    first = ceil(max(cut, float((m - z * sd).min())) / h)
    last = max(first, ceil(float((m + z * sd).max()) / h))
    f = h * torch.arange(first, last + 1, dtype=m.dtype, device=m.device)
    scaled = (f - m[:, None]).mul_((sqrt(0.5) / sd)[:, None])
    weights = scaled.square_().neg_().exp_().mul_((h / (sqrt(2 * pi) * sd))[:, None])
    total = weights.sum(1, keepdim=True)
    clipped = (m - z * sd < f[0])[:, None]
    out = (weights.div_(torch.where(clipped, 1, total)) @ gumbel(s, f)).view(len(m), 3, len(s))
    out[:, 0] += torch.where(clipped, torch.relu(1 - total), 0)  # relu: rounding of a sum that is 1
    return out


def gumbel(s: Float[Tensor, " s"], f: Float[Tensor, " i"]) -> Float[Tensor, "i k"]:
    """exp(-x), x exp(-x), (x^2 - x) exp(-x) at x = exp(f - s), side by side."""
    x = torch.exp(torch.clamp(f[:, None] - s, max=300))  # exp(-exp(300)) is 0, and so are x, x^2 times it
    L = torch.exp(-x)
    D = x * L
    return torch.cat([L, D, (x - 1) * D], dim=1)


def lattice_step(sd: float, epsilon: float) -> float:
    """The largest step with aliasing error 0.5 w^2 exp(-a) <= epsilon at w = 2 pi/h, where the Fourier
    transform of N(f; 0, sd^2) exp(-exp(f - s)) decays like exp(-a): a = (sd w)^2/2 while sd^2 w <= pi/2, then
    pi w/2 - pi^2/(8 sd^2).

    0.5 is measured: the largest over s, lattice offset and L, L', L'' is 0.52, at sd 0.5 ... 0.8, and less elsewhere
    (scripts/softmax_constants.py lattice: sd 0.35 ... 10, h 0.25 ... 0.6).
    """
    w = 4.0
    for _ in range(15):
        a = log(0.5 * w * w / epsilon)
        flat = pi / 4 / sd**2  # pi w/2 - pi^2/(8 sd^2) = a
        w = max(4.0, sqrt(2 * a) / sd if 2 * a * sd**2 <= (pi / 2) ** 2 else 2 * a / pi + flat)
    return 2 * pi / w
