"""Models of training data: SingleTaskGP and its kin, one latent function for each output, or draw (MATH 1)."""

from typing import Any

import torch
from botorch.models.multitask import MultiTaskGP
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from jaxtyping import Float
from linear_operator import to_linear_operator
from torch import Tensor

from gplens.adapters.botorch.inputs import SAME, Smooth, smooth_inputs
from gplens.adapters.botorch.outcomes import Outcome
from gplens.adapters.botorch.tasks import read_task_prior
from gplens.adapters.botorch.units import rescaled, warped
from gplens.adapters.gpytorch.factor import cholesky, inverse
from gplens.adapters.gpytorch.prior import Prior, read_prior
from gplens.adapters.reading import compare
from gplens.lines.quadratic import Quadratic
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import AffineMap, Transformed

Notes = tuple[str, ...]


def read_exact(
    model: Any, latents: int, inputs: AffineMap | None, outcome: Outcome, points: Float[Tensor, "k d"]
) -> tuple[Process, Notes]:
    """Latent functions of raw inputs, in the units of the Gaussian outcome, from a copy of the model in float64."""
    Z, y = _training_data(model, latents)
    maps = [inputs or smooth_inputs(model, i) for i in range(latents)]
    read = read_task_prior if isinstance(model, MultiTaskGP) else read_prior
    priors = [read(model, i, torch.cat([Z[i, :8], maps[i](points)])) for i in range(latents)]
    posteriors, notes = _condition(model, priors, Z, y)
    pairs = zip(posteriors, outcome.scale.expand(latents), outcome.shift.expand(latents), strict=True)
    parts = [rescaled(posterior, scale, shift) for posterior, scale, shift in pairs]
    if inputs is None:
        parts = [_curved(part, model, phi) for part, phi in zip(parts, maps, strict=True)]
        notes = (*notes, "the input transform is no affine map: its derivative goes through autograd")
    process = parts[0] if latents == 1 else Stack(tuple(parts))
    return process if inputs is None else Transformed(process, *inputs), notes


def _training_data(model: Any, latents: int) -> tuple[Float[Tensor, "c n d"], Float[Tensor, "c n"]]:
    """One table and one vector for each latent function, shared or not."""
    Z, y = model.train_inputs[0], model.train_targets
    if not isinstance(model.likelihood, _GaussianLikelihoodBase):
        raise ValueError(f"{type(model).__name__} wants a Gaussian likelihood; got {type(model.likelihood).__name__}.")
    if not bool(y.isfinite().all()):
        raise ValueError(f"{int((~y.isfinite()).sum())} of the training targets are not finite; fit without them.")
    return Z.expand(latents, *Z.shape[-2:]), y.expand(latents, y.shape[-1])


def _condition(
    model: Any, priors: list[Prior], Z: Float[Tensor, "c n d"], y: Float[Tensor, "c n"]
) -> tuple[list[Posterior], Notes]:
    """beta = (K+S)^-1 (y - mu),  A = (K+S)^-1, with the noise S of the host's likelihood  (1.9)."""
    mu = torch.stack([prior.mean(z) for prior, z in zip(priors, Z, strict=True)])
    K = torch.stack([prior.kernel(z, z) for prior, z in zip(priors, Z, strict=True)])
    if len(priors) == 1 and not len(model.covar_module.batch_shape):
        noisy = model.likelihood(MultivariateNormal(mu[0], to_linear_operator(K[0])), [Z[0]])
    else:
        noisy = model.likelihood(MultivariateNormal(mu, to_linear_operator(K)), [Z])
    noisy = noisy.covariance_matrix.expand_as(K)
    posteriors, notes = [], []
    for i, own in enumerate(priors):
        L, jitter = cholesky(noisy[i], "K + noise")
        beta = torch.cholesky_solve((y[i] - mu[i])[:, None], L)[:, 0]
        A = Quadratic(inverse(L)[None], torch.ones(1, len(beta), dtype=beta.dtype))
        posteriors.append(Posterior(own.kernel, Z[i], beta, A, own.mean))
        notes.extend((*own.notes, *jitter))
    return posteriors, tuple(dict.fromkeys(notes))


def _curved(posterior: Posterior, model: Any, phi: Smooth) -> Posterior:
    """The support points as they came, if the transform makes of them what the model keeps."""
    raw = model._original_train_inputs if model._has_transformed_inputs else model.train_inputs[0]
    Z = raw.double().flatten(0, -3)[0] if raw.ndim > 2 else raw.double()
    limit = SAME * (1 + posterior.Z.abs().max())
    hint = "The input transform does to training inputs something else than to new ones (transform_on_train=False)."
    compare("transformed training input", phi(Z), posterior.Z, limit, hint)
    return warped(posterior, phi, Z)
