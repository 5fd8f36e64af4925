"""From a table to a GPyTorch model that L-BFGS has fitted: exact, or sparse with the optimal q(u)."""

from math import log
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from gpytorch.constraints import Positive
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from jaxtyping import Float, Int
from torch import Tensor

from gplens.estimators.fitting import QUIET, Fit, Problem, Settings, fit_by_minibatches
from gplens.estimators.gp_models import Exact, Sparse, kernel_of, prior_mean
from gplens.estimators.linear_rivals import compare_exact, compare_sparse
from gplens.estimators.parameters import Design
from gplens.estimators.scaling import Scaling, exact_in_table_units, noise_in_table_units, sparse_in_table_units
from gplens.estimators.training.ascent import CONVERGED, ascend, box
from gplens.estimators.training.checkpoint import Checkpoint, fingerprint
from gplens.estimators.training.climb import ITERATIONS, TOLERANCE, Climb, log_prior
from gplens.estimators.training.collapsed import CollapsedBound
from gplens.estimators.training.evidence import log_evidence
from gplens.estimators.training.fit_sizes import Plan
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch
from gplens.estimators.training.q_of_u import Natural
from gplens.estimators.training.rows import PLACEMENTS, SUBSET, generator_of
from gplens.estimators.training.site_bound import SiteBound
from gplens.estimators.training.sites import Bound, SiteTerms

JITTER = 1e-6
"""Added to K of the inducing points, relative to the prior's initial variance."""
START_NOISE = 0.1
"""The variance of the noise at the start, for targets of variance one."""


def fit_likelihood(
    design: Design, problem: Problem, X: Float[Tensor, "n d"], scaling: Scaling, settings: Settings
) -> Fit:
    """By L-BFGS, or by minibatches where `training=` asks for them or log p(y|f) is not concave in f."""
    by_minibatches = design.training is not None or not problem.concave
    return (fit_by_minibatches if by_minibatches else fit_in_stages)(design, problem, X, scaling, settings)


def fit_exactly(design: Design, problem: Problem, X: Float[Tensor, "n d"], scaling: Scaling, settings: Settings) -> Fit:
    """Maximise the evidence times the prior of the lengthscales; the result is in the units of the table."""
    began, rows, n = perf_counter(), scaling.apply(X), len(X)
    structure = _structure(design, rows, 0.0)
    start = _start(design, problem, structure, noisy=True)
    y, w = problem.y, problem.weights

    def objective(at: Hyperparameters) -> Float[Tensor, ""]:
        return (log_evidence(at, structure, rows, y, w) + log_prior(at, structure)) / n

    with Watch(settings.budget, began, settings.show) as watch:
        bounds = box(start, structure, QUIET)
        ascent = ascend(objective, start, bounds, iterations=ITERATIONS, tolerance=TOLERANCE, watch=watch)
    at, noise = ascent.best, _noise(ascent.best)
    assert at.mean is not None
    with torch.no_grad():
        evidence = float(log_evidence(at, structure, rows, y, w)) / n
    model = Exact(rows, y, noise, _kernel(design, structure, at), prior_mean(None, float(at.mean))).double()
    table_y = problem.shift + problem.scale * y
    fitted = exact_in_table_units(
        model, design.kernel, scaling, X, table_y, w, shift=problem.shift, scale=problem.scale
    )
    likelihood: Any = fitted.likelihood if w is None else noise_in_table_units(noise, problem.scale)
    summary = {"inference": "exact", "seed": design.seed, "optimizer": "L-BFGS", "steps": ascent.steps}
    summary |= {
        "evaluations": watch.evaluations,
        "stopped": _reason(ascent.stopped, "evidence"),
        "log_evidence_per_row": evidence,
    }
    summary |= {"held_back": None if ascent.stopped == CONVERGED else ascent.stopped}
    summary |= compare_exact(problem, rows, at, structure, design.seed)
    return Fit(fitted, likelihood, {**summary, "seconds": perf_counter() - began})


def fit_in_stages(
    design: Design, problem: Problem, X: Float[Tensor, "n d"], scaling: Scaling, settings: Settings
) -> Fit:
    """Learn hyperparameters and inducing points, then compute the optimal q(u) of all rows; in the table's units.

    With Gaussian noise q(u) is a closed form (6.4), and the bound that is maximised has it inside (6.3). Other
    likelihoods have sites that follow the hyperparameters (6.5).
    """
    began, rows, gaussian = perf_counter(), scaling.apply(X), isinstance(problem.likelihood, GaussianLikelihood)
    structure = _structure(design, rows, JITTER * problem.variance)
    plan = Plan.of(len(X), None if gaussian else problem.latents or 1, design.inducing_points, settings.budget)
    order = torch.randperm(len(X), generator=generator_of(design.seed, SUBSET))
    chosen = order[: plan.rows].sort().values
    start, bound = _start(design, problem, structure, noisy=gaussian), _bound(design, problem, structure, rows, chosen)
    with Watch(settings.budget, began, settings.show) as watch:
        climb = Climb(bound, structure, rows[chosen], plan.rungs, design.seed, QUIET, watch)
        checkpoint = _checkpoint(design, problem, rows, settings)
        at = climb.run(start, lambda count: PLACEMENTS[design.inducing](rows[chosen], count, design.seed), checkpoint)
        whole = bound if plan.rows == len(X) else _bound(design, problem, structure, rows, torch.arange(len(X)))
        q = whole.solve(at, watch)
        if checkpoint is not None and not watch.interrupted:
            checkpoint.remove()
    model = _sparse(design, problem, structure, at)
    Natural(q.h, q.P).write(model)
    fitted = sparse_in_table_units(
        model, design.kernel, scaling, latents=problem.latents, shift=problem.shift, scale=problem.scale
    )
    likelihood = noise_in_table_units(_noise(at), problem.scale) if gaussian else problem.likelihood.double()
    summary = {"inference": "sparse", "inducing_points": model.strategy.inducing_points.shape[-2], "seed": design.seed}
    summary |= {"optimizer": "L-BFGS", "steps": climb.steps, "evaluations": watch.evaluations}
    summary |= {
        "stopped": _reason(climb.stopped, "bound"),
        "held_back": climb.held_back,
        "hyperparameter_rows": plan.rows,
    }
    summary |= {"elbo_per_row": q.value, **compare_sparse(problem, rows, at, structure, q, design.seed)}
    return Fit(fitted, likelihood, {**summary, "seconds": perf_counter() - began})


def _reason(stopped: str, grown: str) -> str:
    """Why a fit ended, for its summary."""
    return f"the {grown} no longer grew" if stopped == CONVERGED else stopped


def _structure(design: Design, rows: Float[Tensor, "n d"], jitter: float) -> Structure:
    return Structure.of(design.kernel, rows.shape[1], design.ard, design.sharing, jitter, design.typical(rows))


def _start(design: Design, problem: Problem, structure: Structure, *, noisy: bool) -> Hyperparameters:
    """Lengthscales at the typical distance, the variance and mean of the problem, and noise of a tenth."""
    kernels, sets = 1 if design.shared or problem.latents is None else problem.latents, int(structure.place.max()) + 1
    number = torch.tensor(0.0, dtype=torch.float64)
    return Hyperparameters(
        torch.full((kernels, sets), log(structure.typical), dtype=torch.float64),
        torch.full((kernels,), log(problem.variance), dtype=torch.float64),
        number.expand(kernels).clone() if design.kernel == "rational_quadratic" else None,
        number + problem.mean if problem.latents is None else None,
        number + log(START_NOISE) if noisy else None,
    )


def _bound(
    design: Design, problem: Problem, structure: Structure, rows: Float[Tensor, "n d"], chosen: Int[Tensor, " m"]
) -> Bound:
    y, w = problem.y[chosen], None if problem.weights is None else problem.weights[chosen]
    if isinstance(problem.likelihood, GaussianLikelihood):
        return CollapsedBound(structure, rows[chosen], y, w)
    guess = problem.sites(y)
    precision = (guess.w if w is None else guess.w * w).expand_as(guess.t)
    sites = SiteTerms(precision * guess.t, precision.clone())
    return SiteBound(structure, problem.likelihood, rows[chosen], y, w, sites, design.seed)


def _checkpoint(design: Design, problem: Problem, rows: Float[Tensor, "n d"], settings: Settings) -> Checkpoint | None:
    if settings.folder is None:
        return None
    data = (rows, problem.y) if problem.weights is None else (rows, problem.y, problem.weights)
    return Checkpoint(Path(settings.folder), fingerprint(f"{design!r} {settings.budget}", *data))


def _kernel(design: Design, structure: Structure, at: Hyperparameters) -> ScaleKernel:
    """The kernel as GPyTorch's object."""
    kernels, every = len(at.log_outputscale), at.lengthscales(structure)[:, None]
    several = kernels > 1
    kernel = kernel_of(design.kernel, every.shape[-1] if design.ard else None, kernels if several else None).double()
    base: Any = kernel.base_kernel
    base.lengthscale = (
        (every if design.ard else every[..., :1]) if several else every[0, :, : None if design.ard else 1]
    )
    if at.log_alpha is not None:
        base.alpha = at.log_alpha.exp()[:, None] if several else at.log_alpha.exp()
    kernel.outputscale = at.log_outputscale.exp() if several else at.log_outputscale.exp()[0]
    return kernel


def _sparse(design: Design, problem: Problem, structure: Structure, at: Hyperparameters) -> Sparse:
    assert at.Z is not None
    Z, mean = at.Z if len(at.Z) > 1 else at.Z[0], 0.0 if at.mean is None else float(at.mean)
    kernel = _kernel(design, structure, at)
    return Sparse(
        Z, kernel, prior_mean(problem.latents, mean), latents=problem.latents, jitter=structure.jitter
    ).double()


def _noise(at: Hyperparameters) -> GaussianLikelihood:
    assert at.log_noise is not None
    likelihood = GaussianLikelihood(noise_constraint=Positive()).double()
    likelihood.noise = at.log_noise.exp()
    return likelihood
