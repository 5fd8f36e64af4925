"""The prior of the live torch module, compared with the one that was read: what a prediction beside tensors depends on.

GPyTorch predicts from q(u) or the training data, which are tensors, and from the prior at these and at new points,
which `forward` computes. If the tensors are those of a comparison of predictions, the prior alone is left to compare.
Points of a call may be so far from each other that k is zero between them, whatever the kernel. They are therefore
compared together with support points at which the kernel varies.
"""

from dataclasses import dataclass
from typing import Any, final

import torch
from gpytorch import settings
from gpytorch.models import ApproximateGP, ExactGP
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.support_points import SupportPoints
from gplens.processes.mix import Mix
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.radial_posteriors import RadialPosteriors
from gplens.processes.stack import Stack

CALLS = (ApproximateGP.__call__, ExactGP.__call__)
"""As they were when this module was imported: a library may be patched later."""
AGREEMENT = 1e-8
"""Difference between two float64 evaluations of one prior, relative to its scale; rounding leaves some 1e-13."""


def follows_from_prior(module: Any) -> bool:
    """Whether a prediction is GPyTorch's own, of the prior that `forward` computes."""
    return type(module).__call__ in CALLS


@final
@dataclass(frozen=True, eq=False)
class LivePrior:
    """The prior that was read, with the support points at which every comparison evaluates it."""

    support: SupportPoints
    radial: RadialPosteriors | None
    """The same posteriors, if the kernels of all latent functions can be evaluated together."""

    @staticmethod
    def of(process: Process) -> "LivePrior | None":
        """None for a process that is not made of posteriors."""
        support = SupportPoints.of(process)
        base = process.base if isinstance(process, Mix) else process
        radial = base.radial if isinstance(base, Stack | Posterior) else None
        return None if support is None else LivePrior(support, radial)

    def is_of(self, module: Any, points: Float[Tensor, "k d"]) -> bool:
        """Whether `forward` of a module in float64 computes this prior at the points, and beside support points."""
        x = points.cpu()
        every = torch.cat([x, self.support.pairs, self.support.beside(x)])
        with settings.lazily_evaluate_kernels(False), settings.debug(False):
            prior = module.forward(every.to(points))
            mean, covariance = prior.mean.cpu(), prior.lazy_covariance_matrix.to_dense().cpu()
        k, mu = self._kernels(every), self._means(every)
        if mean.shape not in (mu.shape, mu[:1].shape, mu[0].shape):
            return False
        if covariance.shape not in (k.shape, k[:1].shape, k[0].shape):
            return False
        return _near(covariance, k, 0.0) and _near(mean, mu, 1.0)

    def _kernels(self, X: Float[Tensor, "k d"]) -> Float[Tensor, "c k k"]:
        """k(x_i, x_j) of each latent function."""
        them = self.radial
        if them is None:
            return torch.cat([p.kernel(X, X).expand(p.latents, -1, -1) for p in self.support.posteriors])
        scaled = (X - them.centre) * them.rho.sqrt()[:, None]
        norm2 = scaled.square().sum(2)
        r2 = norm2[:, :, None] + norm2[:, None] - 2 * (scaled @ scaled.mT)
        return them.variance[:, None, None] * them.kernel.profile(r2.clamp_(min=0))

    def _means(self, X: Float[Tensor, "k d"]) -> Float[Tensor, "c k"]:
        """mu(x_i) of each latent function."""
        if self.radial is not None:
            return self.radial.mean[:, None].expand(-1, len(X))
        return torch.stack([mu(X) for posterior in self.support.posteriors for mu in posterior.means])


def _near(host: Float[Tensor, "*any"], ours: Float[Tensor, "c *k"], unit: float) -> bool:
    """Whether both are equal up to rounding, at the scale of each latent function."""
    size, off = (tensor.abs().flatten(1).amax(1) for tensor in (ours, host - ours))
    return bool((off <= AGREEMENT * (unit + size)).all())
