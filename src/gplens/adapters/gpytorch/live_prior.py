"""The prior of the live torch module, compared with the one that was read: what a prediction beside tensors depends on.

GPyTorch predicts from q(u) or the training data, which are tensors, and from the prior at these and at new points,
which `forward` computes. If the tensors are those of a comparison of predictions, the prior alone is left to compare.
"""

from typing import Any

from gpytorch import settings
from gpytorch.models import ApproximateGP, ExactGP
from jaxtyping import Float
from torch import Tensor

from gplens.processes.mix import Mix
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack

AGREEMENT = 1e-8
"""Difference between two float64 evaluations of one prior, relative to its scale; rounding leaves some 1e-13."""


def follows_from_prior(module: Any) -> bool:
    """Whether everything but `forward` that a prediction calls is GPyTorch's own code."""
    likelihood = getattr(module, "likelihood", None)
    own = likelihood is None or type(likelihood).__module__.startswith("gpytorch.")
    return own and type(module).__call__ in (ApproximateGP.__call__, ExactGP.__call__)


def has_prior(module: Any, process: Process, points: Float[Tensor, "k d"]) -> bool:
    """Whether `forward` of a module in float64 computes the prior of the process at the points."""
    posteriors = _posteriors(process)
    if not posteriors:
        return False
    with settings.lazily_evaluate_kernels(False), settings.debug(False):
        prior = module.forward(points)
        mean, covariance, points = prior.mean.cpu(), prior.lazy_covariance_matrix.to_dense().cpu(), points.cpu()
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


def _posteriors(process: Process) -> list[Posterior]:
    """What a process of independent latent functions, or a mix of them, consists of; nothing for any other."""
    if isinstance(process, Mix):
        return _posteriors(process.base)
    parts = process.parts if isinstance(process, Stack) else (process,)
    posteriors = [part for part in parts if isinstance(part, Posterior)]
    return posteriors if len(posteriors) == len(parts) else []


def _near(host: Tensor, ours: Tensor, unit: float) -> bool:
    return bool((host - ours).abs().max() <= AGREEMENT * (unit + ours.abs().max()))
