"""The spread of attributions from the host's distributions: variances of changes, and draws of the path."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.verification.differences import nodes
from gplens.verification.host import Host, Joint, normals

GRID = 64
"""Gauss-Hermite nodes in each of two dimensions."""
SOBOL = 2**14
PANELS, MOST_PANELS, STEP = 4, 32, 1e-2
"""Of the path of draws; the step of its differences with so many, relative to the length of the path in the feature."""
SETTLED = 0.02
"""The relative change of the deviation at which panels suffice; it is below the error of the draws."""


def variance_of_change(host: Host, x: Float[Tensor, " d"], x0: Float[Tensor, " d"]) -> Float[Tensor, " o"]:
    """Var(g(f(x)) - g(f(x0))), the right side of the second completeness law  (5.3)."""
    assert host.respond is not None
    joint = host.smooth_joint(torch.stack([x, x0]))
    if host.mixes:
        c = len(joint.mean)
        draws = _values(joint, normals(SOBOL, 2 * c).unflatten(1, (c, 2)))
        weights = torch.full((SOBOL,), 1 / SOBOL, dtype=torch.float64)
    else:
        z, w = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(GRID))
        pairs, weights = torch.cartesian_prod(z, z), torch.outer(w, w).flatten() / w.sum() ** 2
        draws = _values(joint, pairs[:, None].expand(-1, len(joint.mean), -1))
    change = host.respond(draws[:, 0]) - host.respond(draws[:, 1])
    mean = weights @ change
    return weights @ (change - mean) ** 2


def draws_of_attribution(
    host: Host, x: Float[Tensor, " d"], x0: Float[Tensor, " d"], feature: int, count: int, generator: torch.Generator
) -> Float[Tensor, "draws o"]:
    """Draws of d_k int d_k g(f(x_t)) dt: values of f beside the path from its joint distribution, and differences."""
    assert host.respond is not None
    (joint, w), step = _beside_path(host, x, x0, feature, PANELS), STEP
    deviation, panels = _latent_deviation(joint, w, step), PANELS
    while panels < MOST_PANELS:  # rough functions on long paths need more, and shorter differences
        panels *= 2
        finer, step = _beside_path(host, x, x0, feature, panels), STEP * PANELS / panels
        before, deviation, (joint, w) = deviation, _latent_deviation(*finer, step), finer
        if bool(((deviation - before).abs() <= SETTLED * deviation).all()):
            break
    z = torch.randn(count, len(joint.mean), 2 * len(w), generator=generator, dtype=x.dtype)
    upper, lower = host.respond(_values(joint, z)).unflatten(1, (2, -1)).unbind(1)
    return torch.einsum("q,nqo->no", w, upper - lower) / (2 * step)


def _beside_path(
    host: Host, x: Float[Tensor, " d"], x0: Float[Tensor, " d"], feature: int, panels: int
) -> tuple[Joint, Float[Tensor, " q"]]:
    """The latent functions at the nodes of the path, a step of the feature further and back; and the weights."""
    t, w = nodes(panels)
    points, shift = x0 + t[:, None] * (x - x0), torch.zeros_like(x)
    shift[feature] = STEP * PANELS / panels * (x - x0)[feature]
    return host.smooth_joint(torch.cat([points + shift, points - shift])), w


def _latent_deviation(joint: Joint, w: Float[Tensor, " q"], step: float) -> Float[Tensor, " c"]:
    """The deviation of attributions of the latent functions themselves, without draws."""
    signed = torch.cat([w, -w]) / (2 * step)
    return torch.einsum("p,cpq,q->c", signed, joint.covariance, signed).clamp(min=0).sqrt()


def _values(joint: Joint, z: Float[Tensor, "n c k"]) -> Float[Tensor, "n k c"]:
    """Latent values from standard normals, through the root of the covariance by its eigenvectors."""
    s, Q = torch.linalg.eigh(joint.covariance)
    root = Q * s.clamp(min=0).sqrt()[:, None]  # below zero is rounding
    return (joint.mean[:, None] + torch.einsum("ckr,ncr->cnk", root, z)).permute(1, 2, 0)
