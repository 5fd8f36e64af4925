"""Draws of attributions, and the variance of those that have no closed form, with its own standard error (MATH 5)."""

from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.softmax.sampled import sobol_normals
from gplens.uncertainty.latent_paths import PathDraws
from gplens.uncertainty.requests import Samples

CHUNK = 2_000_000
"""Numbers in the temporaries of a chunk of draws."""
LARGEST = 400
"""Outputs times features up to which draws are joint: each draw factorises a matrix of that size."""
REPLICATES, POINTS = 8, 256
"""Independent scramblings of a Sobol sequence, and the points of each."""


def draw(paths: PathDraws, request: Samples, row: int, output: int = 0) -> Float[Tensor, "s o d"]:
    """Draws of the attributions of one input: first the latent paths, then the rest of the gradient given them."""
    generator = torch.Generator().manual_seed(request.seed + 1_000_003 * row + 1_000_000_007 * output)
    xi = torch.randn(request.count, paths.dims, generator=generator, dtype=paths.w.dtype)
    rest = torch.randn(request.count, len(paths.outputs), len(paths.d), generator=generator, dtype=paths.w.dtype)
    size = max(1, CHUNK // (len(paths.d) * len(paths.w) * (len(paths.outputs) + len(paths.w))))
    pieces = zip(xi.split(size), rest.split(size), strict=True)
    return torch.cat([_draw(paths, *piece, joint=request.joint) for piece in pieces])


def _draw(
    paths: PathDraws, xi: Float[Tensor, "s r"], rest: Float[Tensor, "s o d"], *, joint: bool
) -> Float[Tensor, "s o d"]:
    mean, weights = paths.given(xi)
    if not joint:
        return mean + paths.variance(weights).sqrt() * rest
    covariance = paths.covariance(weights).flatten(3, 4).flatten(1, 2)
    size, vectors = torch.linalg.eigh(covariance)
    scaled = vectors * size.clamp(min=0).sqrt()[:, None]  # semi-definite: below zero is rounding
    certain = covariance.diagonal(dim1=1, dim2=2) == 0
    scaled = scaled.masked_fill(certain[..., None], 0.0)  # a feature that does not matter has no rounding either
    return mean + (scaled @ rest.flatten(1)[..., None])[..., 0].view_as(mean)


def check_size(outputs: int, features: int) -> None:
    """Refuse joint draws of more attributions than can be factorised for every draw."""
    if outputs * features > LARGEST:
        raise ValueError(
            f"Joint draws of {outputs} outputs x {features} features want a matrix of size {outputs * features} for "
            f"each draw; up to {LARGEST} is taken. Use Samples(count, seed, joint=False) for intervals of single "
            "attributions, Diagonal() for their standard deviations, or fewer outputs."
        )


def variance(
    paths: PathDraws, values: Float[Tensor, "o d"], seed: int
) -> tuple[Float[Tensor, "o d"], Float[Tensor, "o d"], Float[Tensor, "o d"]]:
    """Var IG = E Var[IG given the paths] + Var E[IG given the paths], by randomised quasi Monte Carlo (5.16).

    Returns the standard deviations, the standard errors of these, and by how much the coarser rule changes the
    deviations of the first replicate.
    """
    found = torch.stack([_one(paths, values, seed * REPLICATES + r) for r in range(REPLICATES)])
    mean, error = found.mean(0), found.std(0) / sqrt(REPLICATES)
    std, coarse = mean.sqrt(), _one(paths.coarse(), values, seed * REPLICATES)
    return std, torch.where(std > 0, error / (2 * std), 0.0), (found[0].sqrt() - coarse.sqrt()).abs()


def _one(paths: PathDraws, values: Float[Tensor, "o d"], seed: int) -> Float[Tensor, "o d"]:
    xi = sobol_normals(POINTS, paths.dims, seed)
    mean, weights = paths.given(xi)
    return (paths.variance(weights) + (mean - values) ** 2).mean(0)
