"""Latent functions of BoTorch's models of training data, of tasks, and of inducing points (MATH 1)."""

from typing import Any

import torch
from botorch.models.multitask import MultiTaskGP
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from jaxtyping import Float
from linear_operator import to_linear_operator
from torch import Tensor

from gplens.adapters.botorch.inputs import SAME, Smooth, smooth_inputs
from gplens.adapters.botorch.outcomes import Outcome, rescale
from gplens.adapters.gpytorch.kernels import translate_kernel
from gplens.adapters.gpytorch.prior import AGREEMENT, Prior, cholesky, inverse, pick, read_prior
from gplens.adapters.gpytorch.variational import read_variational
from gplens.adapters.reading import compare_numbers
from gplens.kernels import Kernel, Warped
from gplens.lines.forms import Quadratic
from gplens.means import AutogradMean, ConstantMean, Mean
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import AffineMap, Transformed

Notes = tuple[str, ...]


def read_exact(
    model: Any, latents: int, inputs: AffineMap | None, outcome: Outcome, points: Float[Tensor, "k d"]
) -> tuple[Process, Notes]:
    """Latent functions of raw inputs, in the units of the Gaussian outcome, from a shadow of the model."""
    Z, y = _training_data(model, latents)
    maps = [inputs or smooth_inputs(model, i) for i in range(latents)]
    reader = _read_task_prior if isinstance(model, MultiTaskGP) else read_prior
    priors = [reader(model, i, torch.cat([Z[i, :8], maps[i](points)])) for i in range(latents)]
    posteriors, notes = _condition(model, priors, Z, y)
    pairs = zip(posteriors, outcome.scale.expand(latents), outcome.shift.expand(latents), strict=True)
    parts = [rescale(posterior, scale, shift) for posterior, scale, shift in pairs]
    if inputs is None:
        parts = [_curved(part, model, phi) for part, phi in zip(parts, maps, strict=True)]
        notes = (*notes, "the input transform is not affine: its derivative goes through autograd")
    process = parts[0] if latents == 1 else Stack(tuple(parts))
    if inputs is None or inputs(points) is points:
        return process, notes
    return Transformed.through(process, inputs), notes


def _training_data(model: Any, latents: int) -> tuple[Float[Tensor, "c n d"], Float[Tensor, "c n"]]:
    """A table and a vector for each latent function; latent functions may share them."""
    Z, y = model.train_inputs[0], model.train_targets
    if not isinstance(model.likelihood, _GaussianLikelihoodBase):
        name, kind = type(model).__name__, type(model.likelihood).__name__
        raise ValueError(f"expected a {name} with a Gaussian likelihood, got {kind}; use a SingleTaskVariationalGP.")
    if not bool(y.isfinite().all()):
        bad = int((~y.isfinite()).sum())
        raise ValueError(f"expected finite training targets, got {bad} that are not; fit without them.")
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
    for i, prior in enumerate(priors):
        L, jitter = cholesky(noisy[i], "K + noise")
        beta = torch.cholesky_solve((y[i] - mu[i])[:, None], L)[:, 0]
        A = Quadratic(inverse(L)[None], torch.ones(1, len(beta), dtype=beta.dtype))
        posteriors.append(Posterior(prior.kernel, Z[i], beta, A, prior.mean))
        notes.extend((*prior.notes, *jitter))
    return posteriors, tuple(dict.fromkeys(notes))


def _curved(posterior: Posterior, model: Any, phi: Smooth) -> Posterior:
    """f(phi(x)) of raw inputs; the model keeps phi(Z) as support points (MATH 1.11)."""
    raw = model._original_train_inputs if model._has_transformed_inputs else model.train_inputs[0]
    Z = raw.double().flatten(0, -3)[0] if raw.ndim > 2 else raw.double()
    limit = SAME * (1 + posterior.Z.abs().max())
    hint = "The input transform treats training inputs and new ones differently (transform_on_train=False)."
    compare_numbers("transformed training input", phi(Z), posterior.Z, limit, hint)
    means = [_warped_mean(mean, phi) for mean in posterior.means]
    kernel = Warped(posterior.kernel, phi)
    return Posterior(kernel, Z, posterior.beta, posterior.A, means, jitter=posterior.jitter)


def _warped_mean(mean: Mean, phi: Smooth) -> Mean:
    return mean if isinstance(mean, ConstantMean) else AutogradMean(lambda X: mean(phi(X)))


def _read_task_prior(model: Any, index: int, points: Float[Tensor, "k d"]) -> Prior:
    """The product of the kernels of inputs and tasks, and a mean for each task."""
    if model._task_mapper is not None:
        values = sorted(model._expected_task_values)
        raise ValueError(f"expected tasks numbered 0, 1, 2, ..., got the values {values}; number them, and fit again.")
    kernel: Kernel = translate_kernel(model.covar_module, index, points.shape[1])
    host = pick(model.forward(points).covariance_matrix, index, 2)
    hint = "A subclass may have changed forward()."
    compare_numbers("kernel of inputs and tasks", kernel(points, points), host, AGREEMENT * host.abs().max(), hint)

    def mean(X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return pick(model.forward(X).mean, index, 1)

    return Prior(kernel, AutogradMean(mean), ())


def check_tasks(model: Any, points: Float[Tensor, "k d"]) -> None:
    """Refuse inputs without a task column, and tasks that the model was not fitted on."""
    column, columns = model._task_feature, model.num_non_task_features + 1
    if points.shape[1] == columns - 1:
        raise ValueError(
            f"expected X with the {columns} columns that the {type(model).__name__} was fitted on, of which column "
            f"{column} is the task, got {points.shape[1]} columns; its tasks are correlated: give X and the baseline "
            "the column of the task, which may differ between them."
        )
    tasks, fitted = points[:, min(column, points.shape[1] - 1)].unique().tolist(), sorted(model._expected_task_values)
    unknown = [task for task in tasks if task not in fitted]
    if unknown:
        raise ValueError(
            f"expected tasks among {fitted} in column {column} of X and the baseline, got {unknown}; a task between "
            "two others does not exist, so that averages such as baselines.Mean(X) are none: choose rows of X."
        )


def read_sparse(
    model: Any, inputs: AffineMap | None, outcome: Outcome, points: Float[Tensor, "k d"]
) -> tuple[Process, tuple[str, ...]]:
    """Latent functions of raw inputs, in the units of the Gaussian outcome."""
    if inputs is None:
        raise ValueError(
            "expected an affine input transform of a variational model, got Log10 or Warp, which cannot be undone at "
            "its inducing points; fit the model on inputs that were transformed before, and explain it in those."
        )
    process, notes = read_variational(model.model, inputs(points))
    latents = [process.select((i,)) for i in range(process.latents)]
    pairs = zip(latents, outcome.scale, outcome.shift, strict=True)
    parts = tuple(_rescale_sparse(part, scale, shift) for part, scale, shift in pairs)
    return Transformed.through(parts[0] if len(parts) == 1 else Stack(parts), inputs), notes


def _rescale_sparse(part: Process, scale: Tensor, shift: Tensor) -> Posterior:
    if not isinstance(part, Posterior):
        raise ValueError(
            f"expected a variational model with a latent function for each output, got a {type(part).__name__} of "
            "them; explain the GPyTorch model inside, in its own inputs and units: gplens.explain(model.model, ...)."
        )
    return rescale(part, scale, shift)
