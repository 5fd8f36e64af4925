"""A latent function at any points, and its derivatives in some of the features, jointly Gaussian (MATH 5.24).

A parameter of an experiment may be encoded in dozens of inputs of its model, in which no derivative is needed if the
parameter is switched. Covariances of all derivatives would take hundreds of times as long.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.processes.joint import Block, JointPoints
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import Transformed


def joint_in_columns(process: Process, latent: int, X: Float[Tensor, "n d"], dims: Int[Tensor, " k"]) -> JointPoints:
    """The covariances of (f, d_k f for k in dims) between points.

    Raises:
        ValueError: if the process has no covariances between points of different paths.
    """
    if isinstance(process, Posterior):
        return _of_posterior(process, latent, X, dims)
    if isinstance(process, Transformed):
        W = process.W[dims]
        inner = (W != 0).any(0).nonzero()[:, 0]
        base = joint_in_columns(process.base, latent, process.map(X), inner)
        return base.pulled_back(W[:, inner].expand(len(X), -1, -1))
    if isinstance(process, Stack):
        for part in process.parts:
            if latent < part.latents:
                return joint_in_columns(part, latent, X, dims)
            latent -= part.latents
    chosen = torch.eye(X.shape[1], dtype=X.dtype)[dims]
    return JointPoints.of(process, latent, X).pulled_back(chosen.expand(len(X), -1, -1))


def _of_posterior(posterior: Posterior, latent: int, X: Float[Tensor, "n d"], dims: Int[Tensor, " k"]) -> JointPoints:
    """k and its derivatives between the points, minus k A k  (5.13)."""
    kernel, Z, A = posterior.kernel, posterior.Z, posterior.A.of(latent)
    by_support = torch.cat([kernel(X, Z)[:, None], kernel.gradient(X, Z)[..., dims].mT], dim=1) @ A.F[0].T

    def covariance(rows: slice, columns: slice) -> Block:
        prior = kernel.between_points(X[rows], X[columns]).columns(dims)
        left, right = by_support[rows], by_support[columns]
        C = -torch.einsum("nar,r,mbr->namb", left, A.s[0], right)
        C[:, 0, :, 0] += prior.values[0]
        C[:, 1:, :, 0] += prior.by_x[0].mT
        C[:, 0, :, 1:] += prior.by_y[0]
        C[:, 1:, :, 1:] += prior.by_both(True)[0].transpose(1, 2)
        return C

    return JointPoints(covariance)
