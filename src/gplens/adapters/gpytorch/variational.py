"""ApproximateGP: inducing points as support points (MATH 1, second and third row of the table)."""

from typing import Any

import torch
from gpytorch.models import ApproximateGP
from gpytorch.variational import (
    DeltaVariationalDistribution,
    IndependentMultitaskVariationalStrategy,
    LMCVariationalStrategy,
    UnwhitenedVariationalStrategy,
    VariationalStrategy,
)
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.factor import cholesky, inverse
from gplens.adapters.gpytorch.kernels import own
from gplens.adapters.gpytorch.prior import read_prior
from gplens.lines.quadratic import Quadratic
from gplens.processes.mix import Mix
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack

Notes = tuple[str, ...]


def read_variational(model: ApproximateGP, points: Float[Tensor, "k d"]) -> tuple[Process, Notes]:
    """The process of a copy of the model in float64, its jitter fixed to that of the original."""
    strategy: Any = model.variational_strategy
    if type(strategy) is LMCVariationalStrategy:
        latents, notes = _read_latents(model, strategy.base_variational_strategy, strategy.latent_dim, points)
        return Mix(latents, torch.as_tensor(strategy.lmc_coefficients).T, strategy.jitter_val), notes
    if type(strategy) is IndependentMultitaskVariationalStrategy:
        return _read_tasks(model, strategy, points)
    return _read_latents(model, strategy, -1, points)


def _read_tasks(
    model: ApproximateGP, strategy: IndependentMultitaskVariationalStrategy, points: Float[Tensor, "k d"]
) -> tuple[Process, Notes]:
    tasks, notes = _read_latents(model, strategy.base_variational_strategy, strategy.task_dim, points)
    if tasks.latents == strategy.num_tasks:
        return tasks, notes
    same = torch.ones(strategy.num_tasks, 1, dtype=points.dtype)  # one latent function, repeated for every task
    return Mix(tasks, same), notes


def _read_latents(
    model: ApproximateGP, strategy: Any, axis: int, points: Float[Tensor, "k d"]
) -> tuple[Process, Notes]:
    """One Posterior where kernel and Z are shared, which factorises K once; else a Stack of one for each."""
    if type(strategy) not in (VariationalStrategy, UnwhitenedVariationalStrategy):
        raise ValueError(
            f"{type(strategy).__name__} is not understood; wanted was a VariationalStrategy or an "
            "UnwhitenedVariationalStrategy, alone or inside an IndependentMultitaskVariationalStrategy or an "
            "LMCVariationalStrategy."
        )
    a, B = _q_of_u(strategy)
    Z, count = strategy.inducing_points, 1 if a.ndim == 1 else len(a)
    if a.ndim > 2 or Z.ndim > 3 or axis != -1:
        got = f"q(u) with batch shape {tuple(a.shape[:-1])} and inducing points {tuple(Z.shape)} (axis {axis})"
        raise ValueError(f"Got {got}; one batch axis at the most, the last one, was wanted.")
    count = max(count, _different_kernels(model, Z))
    if count > 1 and max(_different_kernels(model, Z), len(Z) if Z.ndim == 3 else 1) > 1:
        parts = [_read_latent(model, strategy, a, B, (i,), points) for i in range(count)]
        return Stack(tuple(part for part, _ in parts)), tuple(dict.fromkeys(sum((n for _, n in parts), ())))
    return _read_latent(model, strategy, a, B, tuple(range(count)), points)


def _read_latent(
    model: ApproximateGP,
    strategy: Any,
    a: Float[Tensor, "*c n"],
    B: Float[Tensor, "*c n n"],
    which: tuple[int, ...],
    points: Float[Tensor, "k d"],
) -> tuple[Posterior, Notes]:
    """The latent functions `which`, which share kernel and Z."""
    Z = own(strategy.inducing_points, which[0], 2)
    priors = [read_prior(model, i, torch.cat([Z[:8], points])) for i in which]
    kernel, jitter = priors[0].kernel, strategy.jitter_val
    L, notes = cholesky(kernel(Z, Z) + jitter * torch.eye(len(Z), dtype=Z.dtype), "K of the inducing points")
    F = inverse(L)
    whitened = type(strategy) is VariationalStrategy
    forms = []
    for i, prior in zip(which, priors, strict=True):
        a_i, B_i = own(a, i, 1), own(B, i, 2)
        forms.append((a_i, B_i) if whitened else (F @ (a_i - prior.mean(Z)), F @ B_i @ F.T))
    beta = torch.stack([F.T @ a_i for a_i, _ in forms])
    A = _quadratic(F, torch.stack([B_i for _, B_i in forms]))
    means = [prior.mean for prior in priors]
    added = jitter if whitened else 0.0  # the whitened strategy adds its jitter to the predicted variance too
    notes = (f"jitter {jitter:g} on K of the inducing points, as the host adds it", *priors[0].notes, *notes)
    return Posterior(kernel, Z, beta, A, means, jitter=added), notes


def _quadratic(F: Float[Tensor, "n n"], B: Float[Tensor, "c n n"]) -> Quadratic:
    """A = L^-T (I - B) L^-1 with F = L^-1, through the eigenvectors of I - B."""
    s, Q = torch.linalg.eigh(torch.eye(len(F), dtype=F.dtype) - (B + B.mT) / 2)
    return Quadratic(Q.mT @ F, s)


def _different_kernels(model: Any, Z: Tensor) -> int:
    """How many kernels the prior has: the batch axis of its covariance."""
    kernel = getattr(model, "covar_module", None)
    batch = model.forward(Z[..., :2, :]).lazy_covariance_matrix.batch_shape if kernel is None else kernel.batch_shape
    if len(batch) > 1:
        raise ValueError(f"The kernel has batch shape {tuple(batch)}; one batch axis at the most was wanted.")
    return batch[0] if batch else 1


def _q_of_u(strategy: Any) -> tuple[Float[Tensor, "*c n"], Float[Tensor, "*c n n"]]:
    """Mean and covariance of q(u); that of a delta distribution is zero."""
    if not strategy.variational_params_initialized.item():
        raise ValueError(
            "The variational distribution was never initialised: the model has not been fitted, nor called once. "
            "Fit it, or load its state, before asking for an explanation."
        )
    q = strategy.variational_distribution
    if isinstance(strategy._variational_distribution, DeltaVariationalDistribution):
        return q.mean, q.mean.new_zeros(*q.mean.shape, q.mean.shape[-1])
    return q.mean, q.covariance_matrix
