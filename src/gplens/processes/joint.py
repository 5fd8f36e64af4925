"""A latent function and its gradient at any points, jointly Gaussian, for draws over many inputs (MATH 5.24)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.processes.curved import Curved
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import Transformed

Block = Float[Tensor, "n e m e"]
"""A covariance between n and m points, with f before its gradient: e = 1 + d."""


@final
@dataclass(frozen=True, eq=False)
class JointPoints:
    """One latent function at points x_i: the covariances of (f, d_1 f, ..., d_d f) between any two sets of points."""

    covariance: Callable[[slice, slice], Block]
    """(rows, columns) -> Cov of (f, grad f) at the points of two slices."""

    @staticmethod
    def of(process: Process, latent: int, X: Float[Tensor, "n d"]) -> "JointPoints":
        """The latent function at the points X.

        Raises:
            ValueError: the process has no covariances between points of different paths.
        """
        if isinstance(process, Posterior):
            return _of_posterior(process, latent, X)
        if isinstance(process, Transformed):
            base = JointPoints.of(process.base, latent, process.map(X))
            return base.pulled_back(process.W.expand(len(X), -1, -1))
        if isinstance(process, Curved) and process.phi.levels is None:
            jet = process.phi.at(X)
            identity = torch.eye(process.phi.outputs, dtype=X.dtype).expand(len(X), -1, -1)
            return JointPoints.of(process.base, latent, jet.values).pulled_back(jet.back(identity).mT)
        if isinstance(process, Stack):
            for part in process.parts:
                if latent < part.latents:
                    return JointPoints.of(part, latent, X)
                latent -= part.latents
        raise ValueError(
            "expected a process with covariances between the paths of different inputs for across_rows=True, got a "
            f"{type(process).__name__}, which has none; use Samples(count, seed), whose draws are joint over the "
            "features of each input."
        )

    def pulled_back(self, J: Float[Tensor, "n d e"]) -> "JointPoints":
        """Gradients in x, if these are gradients in x', with J = dx'/dx at every point  (1.10, 1.12)."""

        def covariance(rows: slice, columns: slice) -> Block:
            C = self.covariance(rows, columns)
            C = torch.cat([C[:, :1], torch.einsum("nke,nemf->nkmf", J[rows], C[:, 1:])], dim=1)
            return torch.cat([C[..., :1], torch.einsum("nkme,mle->nkml", C[..., 1:], J[columns])], dim=3)

        return JointPoints(covariance)


def _of_posterior(posterior: Posterior, latent: int, X: Float[Tensor, "n d"]) -> JointPoints:
    """k and its derivatives between the points minus k A k  (5.13), with F k of every point computed once."""
    kernel, Z, A = posterior.kernel, posterior.Z, posterior.A.of(latent)
    parts = [kernel(X, Z)[:, None] @ A.F[0].T, kernel.gradient(X, Z).mT @ A.F[0].T]
    w = torch.cat(parts, dim=1)

    def covariance(rows: slice, columns: slice) -> Block:
        left, right = w[rows], w[columns]
        prior = kernel.between_points(X[rows], X[columns])
        fitted = (left * A.s[0]).flatten(0, 1) @ right.flatten(0, 1).T
        C = fitted.neg_().view(*left.shape[:2], *right.shape[:2])
        C[:, 0, :, 0] += prior.values[0]
        C[:, 1:, :, 0] += prior.by_x[0].mT
        C[:, 0, :, 1:] += prior.by_y[0]
        C[:, 1:, :, 1:] += prior.by_both(True)[0].transpose(1, 2)
        return C

    return JointPoints(covariance)
