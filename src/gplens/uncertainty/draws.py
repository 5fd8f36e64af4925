"""Draws of attributions, and deviations that have no closed form, with their Monte Carlo error (MATH 5)."""

from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.softmax.sampled import sobol_normals
from gplens.uncertainty.latent_paths import PathDraws
from gplens.uncertainty.requests import Samples

CHUNK = 2_000_000
"""The most numbers in the temporaries of a chunk of draws."""
LARGEST = 400
"""The most outputs times features for joint draws: every draw factorises a matrix of this size."""
REPLICATES, POINTS = 8, 256
"""The number of independent scramblings of a Sobol sequence, and the points of each."""


def draw(paths: PathDraws, request: Samples, row: int, output: int = 0) -> Float[Tensor, "s o d"]:
    """Draws of the attributions of one input: first f on its path, then the gradient given f."""
    generator = torch.Generator().manual_seed(request.seed + 1_000_003 * row + 1_000_000_007 * output)
    xi = torch.randn(request.count, paths.dims, generator=generator, dtype=paths.w.dtype)
    rest = torch.randn(request.count, len(paths.outputs), len(paths.d), generator=generator, dtype=paths.w.dtype)
    gradients = CHUNK // (len(paths.d) * len(paths.w) * (len(paths.outputs) + len(paths.w)))
    size = max(1, min(_draws_at_once(paths), gradients))
    chunks = zip(xi.split(size), rest.split(size), strict=True)
    return paths.unit[:, None] * torch.cat([_draw(paths, *chunk, joint=request.joint) for chunk in chunks])


def _draw(
    paths: PathDraws, xi: Float[Tensor, "s r"], rest: Float[Tensor, "s o d"], *, joint: bool
) -> Float[Tensor, "s o d"]:
    mean, weights = paths.given(xi)
    if not joint:
        return mean + paths.variance(weights).sqrt() * rest
    covariance = paths.covariance(weights).flatten(3, 4).flatten(1, 2)
    size, vectors = torch.linalg.eigh(covariance)
    scaled = (
        vectors * size.clamp(min=0).sqrt()[:, None] @ vectors.mT
    )  # semi-definite: below zero is rounding, or the error of averages (5.15a)
    certain = covariance.diagonal(dim1=1, dim2=2) == 0
    scaled = scaled.masked_fill(certain[..., None], 0.0)  # exact zeros for features that do not matter
    return mean + (scaled @ rest.flatten(1)[..., None])[..., 0].view_as(mean)


def check_size(outputs: int, features: int) -> None:
    """Refuse joint draws of more attributions than can be factorised for every draw."""
    if outputs * features > LARGEST:
        raise ValueError(
            f"expected at most {LARGEST} attributions for joint draws, each of which factorises a matrix of that size, "
            f"got {outputs} outputs x {features} features = {outputs * features}. Use Samples(count, seed, "
            "joint=False) for intervals of single attributions, Diagonal() for their standard deviations, or fewer "
            "outputs."
        )


def deviations(
    paths: PathDraws, values: Float[Tensor, "o d"], seed: int
) -> tuple[Float[Tensor, "o d"], Float[Tensor, "o d"], Float[Tensor, "o d"]]:
    """Var IG = E Var[IG given the paths] + Var E[IG given the paths], by randomised quasi Monte Carlo (5.16).

    Returns the standard deviations, their standard errors, and by how much the deviations of the first replicate change
    with the coarser rule.
    """
    unit = paths.unit[:, None]
    scaled = values / unit
    variances = torch.stack([_variance(paths, scaled, seed * REPLICATES + r) for r in range(REPLICATES)])
    mean, error = variances.mean(0), variances.std(0) / sqrt(REPLICATES)
    std, coarse = mean.sqrt(), _variance(paths.coarse(), scaled, seed * REPLICATES)
    std_error = torch.where(std > 0, error / (2 * std), 0.0)
    return unit * std, unit * std_error, unit * (variances[0].sqrt() - coarse.sqrt()).abs()


def _variance(paths: PathDraws, values: Float[Tensor, "o d"], seed: int) -> Float[Tensor, "o d"]:
    """The variance in units of paths.unit^2, computed in chunks of draws."""
    total = torch.zeros_like(values)
    for xi in sobol_normals(POINTS, paths.dims, seed).split(_draws_at_once(paths)):
        mean, weights = paths.given(xi)
        total += (paths.variance(weights) + (mean - values) ** 2).sum(0)
    return total / POINTS


def _draws_at_once(paths: PathDraws) -> int:
    """The number of draws that fit into a chunk, with slopes of outputs in latents, gradients, and pairs of nodes."""
    o, c, (d, q) = len(paths.outputs), len(paths.latents), (len(paths.d), len(paths.w))
    return max(1, CHUNK // (3 * o * c * q + q * d + o * (q**2 + d)))
