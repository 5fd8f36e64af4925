"""Which of several jointly Gaussian attributions are larger in size, without draws (MATH 5.23)."""

from math import pi

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.expectations.softmax.sampled import sobol_normals

SINGULAR = 1e-13
"""If 1 - correlation^2 of two attributions is smaller, it is rounding: both are functions of one standard normal."""
REPLICATES, POINTS = 8, 4096
"""The number of scramblings of a Sobol sequence for the probabilities of ranks, and the points of each."""
CHUNK = 2_000_000
"""The most numbers in the draws that are sorted at once."""

Numbers = Float[Tensor, "*n"]


def probability_larger(values: Float[Tensor, "*n 2"], covariance: Float[Tensor, "*n 2 2"]) -> Numbers:
    """P(|a| > |b|) for Gaussian a and b with these means and covariances, to rounding  (5.23).

    |a| > |b| if a - b and a + b have the same sign: two orthants of a bivariate normal distribution, by Owen's T.
    """
    (a, b), (A, B, C) = values.unbind(-1), (covariance[..., i, j] for i, j in ((0, 0), (1, 1), (0, 1)))
    u, v = a - b, a + b
    sd_u, sd_v = ((A + B + sign * C).clamp(min=0).sqrt() for sign in (-2, 2))
    det = A * B - C**2
    regular = (det > SINGULAR * A * B) & (sd_u > 0) & (sd_v > 0)
    one = torch.ones_like(a)
    h, k = u / torch.where(regular, sd_u, one), v / torch.where(regular, sd_v, one)
    product = torch.where(regular, sd_u * sd_v, one)
    r, root = (A - B) / product, 2 * torch.where(regular, det, one).sqrt() / product  # (1 - r^2)^1/2, without rounding
    same_side = (h * k > 0) | ((h * k == 0) & (h + k >= 0))
    both = same_side.to(a.dtype) - 2 * _owens_t(h, k - r * h, root) - 2 * _owens_t(k, h - r * k, root)
    both = torch.where((h == 0) & (k == 0), 0.5 + torch.asin(r.clamp(-1, 1)) / pi, both)
    return torch.where(regular, both.clamp(0, 1), _on_a_line(a, b, A, B, C))


def _owens_t(h: Numbers, numerator: Numbers, root: Numbers) -> Numbers:
    """T(h, numerator / (h root)); the sign of the quotient is that of the numerator where h = 0."""
    from scipy.special import owens_t  # imported on first use: `import gplens` loads no scipy

    slope = numerator / (torch.where(h == 0, 1.0, h) * root)
    slope = torch.where(h == 0, numerator.sign() * torch.inf, slope).nan_to_num(nan=0.0, posinf=1e300, neginf=-1e300)
    return torch.as_tensor(owens_t(h.numpy(), slope.numpy()), dtype=h.dtype)


def _on_a_line(a: Numbers, b: Numbers, A: Numbers, B: Numbers, C: Numbers) -> Numbers:
    """P(|a + s z| > |b + t z|) for one standard normal z: intervals of z instead of orthants."""
    s, t, total = A.sqrt(), torch.where(C < 0, -1.0, 1.0) * B.sqrt(), torch.zeros_like(a)
    for sign in (1, -1):
        low_u, high_u = _positive(sign * (a - b), sign * (s - t))
        low_v, high_v = _positive(sign * (a + b), sign * (s + t))
        low, high = torch.maximum(low_u, low_v), torch.minimum(high_u, high_v)
        total = total + (torch.special.ndtr(high) - torch.special.ndtr(low)).clamp(min=0)
    return total


def _positive(start: Numbers, rate: Numbers) -> tuple[Numbers, Numbers]:
    """The ends of the interval of z in which start + rate z > 0; in reverse order if there is none."""
    edge, never = -start / torch.where(rate == 0, 1.0, rate), (rate == 0) & (start <= 0)
    low = torch.where(rate > 0, edge, torch.where(never, torch.inf, -torch.inf))
    return low, torch.where(rate < 0, edge, torch.inf)


def rank_probabilities(
    values: Float[Tensor, "*n d"], covariance: Float[Tensor, "*n d d"]
) -> tuple[Float[Tensor, "*n d d"], float]:
    """P(|a_k| is the r-th largest) at [..., k, r], and the largest standard error.

    Exact for up to two features; else by eight scramblings of 4096 Sobol points, the same for every call.
    """
    d = values.shape[-1]
    if d == 1:
        return torch.ones_like(covariance), 0.0
    if d == 2:
        first = probability_larger(values, covariance)
        return torch.stack([torch.stack([first, 1 - first], -1), torch.stack([1 - first, first], -1)], -2), 0.0
    size, vectors = torch.linalg.eigh(covariance)
    root = vectors * size.clamp(min=0).sqrt()[..., None, :]  # semi-definite: below zero is rounding
    flat = values.reshape(-1, d), root.reshape(-1, d, d)
    points = [sobol_normals(POINTS, d, seed) for seed in range(REPLICATES)]
    rows = max(1, CHUNK // (POINTS * d))
    shares = [
        torch.stack([rank_shares((means[:, None] + z @ roots.mT).abs()) for z in points])
        for means, roots in zip(flat[0].split(rows), flat[1].split(rows), strict=True)
    ]
    by_replicate = torch.cat(shares, dim=1) if shares else values.new_zeros(REPLICATES, 0, d, d)
    error = float(by_replicate.std(0).max()) / REPLICATES**0.5 if by_replicate.numel() else 0.0
    return by_replicate.mean(0).reshape(*values.shape, d), error


def rank_shares(sizes: Float[Tensor, "n s d"]) -> Float[Tensor, "n d d"]:
    """The share of the s draws in which feature k has the r-th largest size, at [:, k, r]."""
    (n, s, d), ranks = sizes.shape, ranks_of(sizes)
    places = torch.arange(d) * d + ranks + torch.arange(n)[:, None, None] * d * d
    counts = torch.bincount(places.flatten(), minlength=n * d * d)
    return counts.view(n, d, d).to(sizes.dtype) / s


def ranks_of(sizes: Float[Tensor, "*n d"]) -> Int[Tensor, "*n d"]:
    """The rank of each feature, from 0 for the largest; ties keep the order of the features."""
    return sizes.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
