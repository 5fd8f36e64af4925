"""The prior of the live torch module, compared with the one that was read: what a prediction beside tensors depends on.

GPyTorch predicts from q(u) or the training data, which are tensors, and from the prior at these and at new points,
which `forward` computes. If the tensors are those of a comparison of predictions, the prior alone is left to compare.
Points of a call may be so far from each other that k is zero between them, whatever the kernel. They are therefore
compared together with support points at which the kernel varies.
"""

from typing import Any

import torch
from gpytorch import settings
from gpytorch.models import ApproximateGP, ExactGP
from jaxtyping import Float
from torch import Tensor

from gplens.processes.mix import Mix
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack

SUPPORT = 4
"""Support points, and points of the call, that are compared with a support point beside them. Paths may pass data that
are far from all points of the call."""
AGREEMENT = 1e-8
"""Difference between two float64 evaluations of one prior, relative to its scale; rounding leaves some 1e-13."""


def follows_from_prior(module: Any) -> bool:
    """Whether a prediction is GPyTorch's own, of the prior that `forward` computes."""
    return type(module).__call__ in (ApproximateGP.__call__, ExactGP.__call__)


def has_prior(module: Any, process: Process, points: Float[Tensor, "k d"]) -> bool:
    """Whether `forward` of a module in float64 computes the prior of the process at the points."""
    posteriors = _posteriors(process)
    if not posteriors:
        return False
    every = _with_support(posteriors, points.cpu())
    with settings.lazily_evaluate_kernels(False), settings.debug(False):
        prior = module.forward(every.to(points))
        mean, covariance, points = prior.mean.cpu(), prior.lazy_covariance_matrix.to_dense().cpu(), every
    latents = [(posterior, mu) for posterior in posteriors for mu in posterior.means]
    means = mean.expand(len(latents), -1) if mean.ndim < 2 or len(mean) == 1 else mean
    covariances = covariance.expand(len(latents), -1, -1) if covariance.ndim < 3 or len(covariance) == 1 else covariance
    if not len(latents) == len(means) == len(covariances):
        return False
    kernels = {id(posterior): posterior.kernel(points, points) for posterior in posteriors}
    return all(
        _near(k, kernels[id(posterior)], 0.0) and _near(m, mu(points), 1.0)
        for (posterior, mu), m, k in zip(latents, means, covariances, strict=True)
    )


def _with_support(posteriors: list[Posterior], points: Float[Tensor, "k d"]) -> Float[Tensor, "n d"]:
    """The points and some support points, and for some of both one at which k is near half of its largest value."""
    Z, parts = posteriors[0].Z, len(posteriors)
    chosen = torch.cat([part[:: -(-len(part) // SUPPORT)] for part in (Z, points)])
    partners = []
    for i, posterior in enumerate(posteriors[: len(chosen)]):  # each has a partner of one of the posteriors
        x = chosen[i::parts]
        relative = posterior.kernel(x, posterior.Z) / posterior.kernel.diagonal(x)[:, None]
        partners.append(posterior.Z[(relative - 0.5).abs().argmin(1)])
    return torch.cat([points, Z[:: -(-len(Z) // SUPPORT)], *partners])


def _posteriors(process: Process) -> list[Posterior]:
    """What a process of independent latent functions, or a mix of them, consists of; nothing for any other."""
    if isinstance(process, Mix):
        return _posteriors(process.base)
    parts = process.parts if isinstance(process, Stack) else (process,)
    posteriors = [part for part in parts if isinstance(part, Posterior)]
    return posteriors if len(posteriors) == len(parts) else []


def _near(host: Tensor, ours: Tensor, unit: float) -> bool:
    return bool((host - ours).abs().max() <= AGREEMENT * (unit + ours.abs().max()))
