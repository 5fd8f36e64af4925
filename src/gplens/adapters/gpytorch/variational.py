"""ApproximateGP: inducing points as support points (MATH 1, second and third row of the table)."""

from functools import partial
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

from gplens.adapters.gpytorch.kernels import select_latent
from gplens.adapters.gpytorch.live import Snapshot, compare_in_double, compare_live
from gplens.adapters.gpytorch.modules import shadow
from gplens.adapters.gpytorch.prior import cholesky, inverse, read_prior, some_of
from gplens.adapters.reading import Reading, check_columns, read_model
from gplens.lines.forms import Quadratic
from gplens.processes.mix import Mix
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack

Notes = tuple[str, ...]


@read_model.register
def _(model: ApproximateGP, points: Float[Tensor, "k d"] | None) -> Reading:
    """Read a shadow of the model and compare the shadow's predictions; `compare` evaluates the live model."""
    replica = shadow(model).eval()
    Z = base_strategy(replica).inducing_points
    check_columns(Z.shape[-1], points)
    x = some_of(Z.flatten(0, -2)) if points is None else points
    process, notes = read_variational(replica, x)
    notes = (*notes, *compare_in_double(model, replica, process, x))
    compare = partial(compare_live, model, process, Snapshot(model, process))
    return Reading(process, type(model).__name__, notes=notes, compare=compare)


def base_strategy(model: Any) -> Any:
    """The variational strategy that holds the inducing points: the model's own, or the one that it wraps."""
    strategy = model.variational_strategy
    if type(strategy) in (LMCVariationalStrategy, IndependentMultitaskVariationalStrategy):
        strategy = strategy.base_variational_strategy
    if type(strategy) not in (VariationalStrategy, UnwhitenedVariationalStrategy):
        raise ValueError(
            "expected a VariationalStrategy or an UnwhitenedVariationalStrategy, alone or inside an "
            "IndependentMultitaskVariationalStrategy or an LMCVariationalStrategy, got "
            f"{type(strategy).__name__}; fit the model with one of these."
        )
    return strategy


def read_variational(model: Any, points: Float[Tensor, "k d"]) -> tuple[Process, Notes]:
    """The process of a shadow, and notes; its prior is compared with the shadow's own forward at the points."""
    strategy, base = model.variational_strategy, base_strategy(model)
    if type(strategy) is LMCVariationalStrategy:
        latents, notes = _read_latents(model, base, strategy.latent_dim, points)
        return Mix(latents, torch.as_tensor(strategy.lmc_coefficients).T, strategy.jitter_val), notes
    if type(strategy) is IndependentMultitaskVariationalStrategy:
        tasks, notes = _read_latents(model, base, strategy.task_dim, points)
        if tasks.latents == strategy.num_tasks:
            return tasks, notes
        repeated = torch.ones(strategy.num_tasks, 1, dtype=points.dtype)  # one latent function for every task
        return Mix(tasks, repeated), notes
    return _read_latents(model, base, -1, points)


def _read_latents(model: Any, strategy: Any, axis: int, points: Float[Tensor, "k d"]) -> tuple[Process, Notes]:
    """One Posterior if kernel and Z are shared, so that K is factorised once; else a Stack with one for each."""
    a, B = _q_of_u(strategy)
    Z, count = strategy.inducing_points, 1 if a.ndim == 1 else len(a)
    if a.ndim > 2 or Z.ndim > 3 or axis != -1:
        shapes = f"q(u) with batch shape {tuple(a.shape[:-1])} and inducing points {tuple(Z.shape)} (axis {axis})"
        raise ValueError(f"expected at most one batch axis, the last one, got {shapes}; split the model into several.")
    count = max(count, _different_kernels(model, Z))
    if count > 1 and max(_different_kernels(model, Z), len(Z) if Z.ndim == 3 else 1) > 1:
        parts = [_read_latent(model, strategy, a, B, (i,), points) for i in range(count)]
        return Stack(tuple(part for part, _ in parts)), tuple(dict.fromkeys(sum((n for _, n in parts), ())))
    return _read_latent(model, strategy, a, B, tuple(range(count)), points)


def _read_latent(
    model: Any,
    strategy: Any,
    a: Float[Tensor, "*c n"],
    B: Float[Tensor, "*c n n"],
    which: tuple[int, ...],
    points: Float[Tensor, "k d"],
) -> tuple[Posterior, Notes]:
    """The posterior of the latent functions `which`, which share kernel and Z."""
    Z = select_latent(strategy.inducing_points, which[0], 2)
    priors = [read_prior(model, i, torch.cat([Z[:8], points])) for i in which]
    kernel, jitter = priors[0].kernel, strategy.jitter_val
    L, notes = cholesky(kernel(Z, Z) + jitter * torch.eye(len(Z), dtype=Z.dtype), "K of the inducing points")
    F = inverse(L)
    whitened = type(strategy) is VariationalStrategy
    forms = []
    for i, prior in zip(which, priors, strict=True):
        a_i, B_i = select_latent(a, i, 1), select_latent(B, i, 2)
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
    """The number of kernels of the prior: the length of the batch axis of its covariance."""
    kernel = getattr(model, "covar_module", None)
    batch = model.forward(Z[..., :2, :]).lazy_covariance_matrix.batch_shape if kernel is None else kernel.batch_shape
    if len(batch) > 1:
        raise ValueError(f"expected a kernel with at most one batch axis, got {tuple(batch)}; split the model.")
    return batch[0] if batch else 1


def _q_of_u(strategy: Any) -> tuple[Float[Tensor, "*c n"], Float[Tensor, "*c n n"]]:
    """Mean and covariance of q(u); the covariance of a delta distribution is zero."""
    if not strategy.variational_params_initialized.item():
        raise ValueError(
            "expected a fitted model, got one whose variational distribution was never initialised; fit it, or load "
            "its state."
        )
    q = strategy.variational_distribution
    if isinstance(strategy._variational_distribution, DeltaVariationalDistribution):
        return q.mean, q.mean.new_zeros(*q.mean.shape, q.mean.shape[-1])
    return q.mean, q.covariance_matrix
