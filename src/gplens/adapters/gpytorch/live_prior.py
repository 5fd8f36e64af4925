"""The prior of the live torch module, compared with the one that was read: what a prediction beside tensors depends on.

GPyTorch predicts from q(u) or the training data, which are tensors, and from the prior at these and at new points,
which `forward` computes. If the tensors are those of a comparison of predictions, the prior alone is left to compare.
Points of a call may be so far from each other that k is zero between them, whatever the kernel. They are therefore
compared together with support points at which the kernel varies.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import torch
from gpytorch import settings
from gpytorch.models import ApproximateGP, ExactGP
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.support_points import SUPPORT, SupportSample
from gplens.processes.mix import Mix, MixMarginals
from gplens.processes.posterior import Posterior
from gplens.processes.process import Marginals, Process
from gplens.processes.radial_posteriors import RadialMarginals, RadialPosteriors
from gplens.processes.stack import Stack
from gplens.processes.transformed import AffineMap, Transformed, TransformedMarginals

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

    support: SupportSample
    radial: RadialPosteriors | None
    """The same posteriors, if the kernels of all latent functions can be evaluated together."""
    map: AffineMap | None
    """The map from inputs to those of the posteriors; None if they are the same."""
    scale: float
    shift: float
    """A latent function of the posteriors is scale f + shift, with the host's f."""

    @staticmethod
    def of(process: Process, scale: float = 1.0, shift: float = 0.0) -> "LivePrior | None":
        """None for a process that is not made of posteriors."""
        affine = process.map if isinstance(process, Transformed) else None
        process = process.base if isinstance(process, Transformed) else process
        base = process.base if isinstance(process, Mix) else process
        support, radial = SupportSample.of(process), base.radial if isinstance(base, Stack | Posterior) else None
        return None if support is None else LivePrior(support, radial, affine, scale, shift)

    def is_of(self, module: Any, points: Float[Tensor, "k d"], at: Marginals) -> bool:
        """Whether `forward` of a module in float64 computes this prior at the points, and beside support points.

        `at` are the marginals of the process at the points. Both are inputs of `forward` if there is no map; else the
        map is compared with the module's own.
        """
        x = points.cpu()
        if self.map is not None:
            x = self.map(x)
            if not _near(module.transform_inputs(points).cpu()[None], x[None], _size(x[None]), 1.0):
                return False
        every = torch.cat([x, self.support.pairs, self._beside(x, at)])
        with settings.lazily_evaluate_kernels(False), settings.debug(False):
            prior = module.forward(every.to(points))
            mean, covariance = prior.mean.cpu(), prior.lazy_covariance_matrix.to_dense().cpu()
        k, mu = self._kernels(every), self._means(every)
        if self.scale != 1 or self.shift != 0:
            k, mu = k / self.scale**2, (mu - self.shift) / self.scale
        if mean.shape not in (mu.shape, mu[:1].shape, mu[0].shape):
            return False
        if covariance.shape not in (k.shape, k[:1].shape, k[0].shape):
            return False
        sizes = self.sizes or (_size(k), _size(mu))
        return _near(covariance, k, sizes[0], 0.0) and _near(mean, mu, sizes[1], 1.0)

    @cached_property
    def sizes(self) -> tuple[list[float], list[float]] | None:
        """The largest covariance and mean of each latent function, if they are the same at all points."""
        if self.radial is None:
            return None
        variance, mean = self.radial.variance / self.scale**2, (self.radial.mean - self.shift) / self.scale
        return variance.tolist(), mean.abs().tolist()

    def _beside(self, x: Float[Tensor, "k d"], at: Marginals) -> Float[Tensor, "s d"]:
        """Support points beside some of the points, by k at them if the marginals have it."""
        at = at.base if isinstance(at, MixMarginals | TransformedMarginals) else at
        if not isinstance(at, RadialMarginals):
            return self.support.beside(x)
        step, posteriors = -(-len(x) // SUPPORT), self.support.posteriors
        if len(posteriors) == 1:
            k = at.jet.profile[0, ::step, 0]
            return posteriors[0].Z[(k - 0.5 * at.posteriors.variance).abs_().argmin(1)]
        chosen = range(0, len(x), step)
        latents = [i % len(posteriors) for i in range(len(chosen))]
        k = at.jet.profile[latents, list(chosen), 0] / at.posteriors.variance[latents, None]
        nearest = (k - 0.5).abs_().argmin(1).tolist()
        return torch.stack([posteriors[i].Z[j] for i, j in zip(latents, nearest, strict=True)])

    def _kernels(self, X: Float[Tensor, "k d"]) -> Float[Tensor, "c k k"]:
        """k(x_i, x_j) of each latent function."""
        them = self.radial
        if them is None:
            return torch.cat([p.kernel(X, X).expand(p.latents, -1, -1) for p in self.support.posteriors])
        scaled = (X - them.centre) * them.rho.sqrt()[:, None]
        products = torch.bmm(scaled, scaled.mT)
        norm2 = products.diagonal(dim1=1, dim2=2)
        r2 = torch.sub(norm2[:, :, None] + norm2[:, None], products, alpha=2).clamp_(min=0)
        return them.variance[:, None, None] * them.kernel.profile(r2)

    def _means(self, X: Float[Tensor, "k d"]) -> Float[Tensor, "c k"]:
        """mu(x_i) of each latent function."""
        if self.radial is not None:
            return self.radial.mean[:, None].expand(-1, len(X))
        return torch.stack([mu(X) for posterior in self.support.posteriors for mu in posterior.means])


def _size(ours: Float[Tensor, "c *k"]) -> list[float]:
    """The largest number of each latent function."""
    return ours.abs().flatten(1).amax(1).tolist()


def _near(host: Float[Tensor, "*any"], ours: Float[Tensor, "c *k"], size: list[float], unit: float) -> bool:
    """Whether both are equal up to rounding, at the scale of each latent function."""
    off = (host - ours).abs_()
    if len(ours) == 1:
        return float(off.max()) <= AGREEMENT * (unit + size[0])
    worst = off.flatten(1).amax(1).tolist()
    return all(error <= AGREEMENT * (unit + largest) for error, largest in zip(worst, size, strict=True))
