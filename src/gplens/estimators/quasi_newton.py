"""From a table to a GPyTorch model that L-BFGS has fitted: exact, or sparse with sites."""

from dataclasses import replace
from math import log
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.estimators.fitting import QUIET, Fit, Problem, Settings, fit_by_minibatches
from gplens.estimators.gp_models import Exact, prior_mean
from gplens.estimators.host_objects import kernel_object, noise_object, solved_sparse
from gplens.estimators.linear_rivals import compare_exact, compare_sparse
from gplens.estimators.parameters import Design
from gplens.estimators.scaling import Scaling, exact_in_table_units, noise_in_table_units
from gplens.estimators.stated_probabilities import calibrated_factor
from gplens.estimators.training.ascent import CONVERGED, Ascent, ascend, box
from gplens.estimators.training.checkpoint import Checkpoint, fingerprint
from gplens.estimators.training.climb import ITERATIONS, TOLERANCE, Climb, log_prior
from gplens.estimators.training.evidence import log_evidence
from gplens.estimators.training.fit_sizes import Plan
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch
from gplens.estimators.training.rows import PLACEMENTS, SUBSET, generator_of
from gplens.estimators.training.site_bound import SiteBound
from gplens.estimators.training.sites import SiteTerms
from gplens.estimators.weights import Weights

JITTER = 1e-6
"""Added to K of the inducing points, relative to the prior's initial variance."""
SITES_GAIN = 4e-3
"""Nats per row that three steps with sites have to gain; further ones hardly change predictions."""
START_NOISE = 0.1
"""The variance of the noise at the start, for targets of variance one."""


def fit_likelihood(
    design: Design, problem: Problem, X: Float[Tensor, "n d"], scaling: Scaling, settings: Settings
) -> Fit:
    """Fit by L-BFGS, or by minibatches if `training=` is given or log p(y|f) is not concave in f."""
    by_minibatches = design.training is not None or not problem.concave
    return (fit_by_minibatches if by_minibatches else fit_in_stages)(design, problem, X, scaling, settings)


def fit_exactly(design: Design, problem: Problem, X: Float[Tensor, "n d"], scaling: Scaling, settings: Settings) -> Fit:
    """Maximise the evidence times the prior of the lengthscales; the result is in the units of the table."""
    began, rows, n = perf_counter(), scaling.apply(X), len(X)
    structure = structure_of(design, rows, 0.0)
    y, w = problem.y, problem.weights
    with Watch(settings.budget, began, settings.show) as watch:
        ascent = maximise_evidence(start_of(design, problem, structure, noisy=True), structure, rows, y, w, watch)
    at, noise = ascent.best, noise_object(ascent.best)
    assert at.mean is not None
    with torch.no_grad():
        evidence = float(log_evidence(at, structure, rows, y, w)) / n
    kernel = kernel_object(design, structure, at)
    model = Exact(rows, y, noise, kernel, prior_mean(None, float(at.mean))).double()
    table_y = problem.shift + problem.scale * y
    fitted = exact_in_table_units(
        model, design.kernel, scaling, X, table_y, w, shift=problem.shift, scale=problem.scale
    )
    likelihood: Any = fitted.likelihood if w is None else noise_in_table_units(noise, problem.scale)
    summary = {"inference": "exact", "seed": design.seed, "optimizer": "L-BFGS", "steps": ascent.steps}
    summary |= {
        "evaluations": watch.evaluations,
        "stopped": reason(ascent.stopped, "evidence"),
        "log_evidence_per_row": evidence,
    }
    summary |= {"held_back": None if ascent.stopped == CONVERGED else ascent.stopped}
    summary |= compare_exact(problem, rows, at, structure, design.seed)
    return Fit(fitted, likelihood, {**summary, "seconds": perf_counter() - began})


def maximise_evidence(
    start: Hyperparameters,
    structure: Structure,
    rows: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    weights: Weights,
    watch: Watch,
) -> Ascent:
    """L-BFGS for the evidence of some rows, times the prior of the lengthscales."""

    def objective(at: Hyperparameters) -> Float[Tensor, ""]:
        return (log_evidence(at, structure, rows, y, weights) + log_prior(at, structure)) / len(rows)

    bounds = box(start, structure, QUIET)
    return ascend(objective, start, bounds, iterations=ITERATIONS, tolerance=TOLERANCE, watch=watch)


def fit_in_stages(
    design: Design, problem: Problem, X: Float[Tensor, "n d"], scaling: Scaling, settings: Settings
) -> Fit:
    """Learn hyperparameters and inducing points, then compute the optimal q(u) of all rows; in the table's units.

    Sites of the rows follow the hyperparameters (6.5).
    """
    began, rows = perf_counter(), scaling.apply(X)
    structure = structure_of(design, rows, JITTER * problem.variance)
    plan = Plan.of(len(X), problem.latents or 1, design.inducing_points, settings.budget)
    order = torch.randperm(len(X), generator=generator_of(design.seed, SUBSET))
    chosen = order[: plan.rows].sort().values
    start, bound = start_of(design, problem, structure, noisy=False), _bound(design, problem, structure, rows, chosen)
    with Watch(settings.budget, began, settings.show) as watch:
        climb = Climb(bound, structure, rows[chosen], plan.rungs, design.seed, QUIET, watch, SITES_GAIN)
        checkpoint = checkpoint_of(design, problem, rows, settings)
        at = climb.run(start, lambda count: PLACEMENTS[design.inducing](rows[chosen], count, design.seed), checkpoint)
        whole = bound if plan.rows == len(X) else _bound(design, problem, structure, rows, torch.arange(len(X)))
        q = whole.solve(at, watch)
        if checkpoint is not None and not watch.interrupted:
            checkpoint.remove()
    summary = {"inference": "sparse", "inducing_points": q.h.shape[-1], "seed": design.seed, "optimizer": "L-BFGS"}
    summary |= {"steps": climb.steps, "evaluations": watch.evaluations, "stopped": reason(climb.stopped, "bound")}
    summary |= {"held_back": climb.held_back, "hyperparameter_rows": plan.rows, "elbo_per_row": q.value}
    factor = calibrated_factor(problem, rows, at, structure, q, design.seed)
    summary |= {} if problem.latents is None else {"latent_factor": factor}
    summary |= compare_sparse(problem, rows, at, structure, q, design.seed, factor)
    fitted = solved_sparse(design, problem, structure, at, replace(q, h=factor * q.h), scaling)
    return Fit(fitted, problem.likelihood.double(), {**summary, "seconds": perf_counter() - began})


def reason(stopped: str, grown: str) -> str:
    """Why a fit ended, for its summary."""
    return f"the {grown} no longer grew" if stopped == CONVERGED else stopped


def structure_of(design: Design, rows: Float[Tensor, "n d"], jitter: float) -> Structure:
    """The constants of a fit of this design to these rows."""
    return Structure.of(design.kernel, rows.shape[1], design.ard, design.sharing, jitter, design.typical(rows))


def start_of(design: Design, problem: Problem, structure: Structure, *, noisy: bool) -> Hyperparameters:
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
) -> SiteBound:
    y, w = problem.y[chosen], None if problem.weights is None else problem.weights[chosen]
    guess = problem.sites(y)
    precision = (guess.w if w is None else guess.w * w).expand_as(guess.t)
    sites = SiteTerms(precision * guess.t, precision.clone())
    return SiteBound(structure, problem.likelihood, rows[chosen], y, w, sites, design.seed)


def checkpoint_of(
    design: Design, problem: Problem, rows: Float[Tensor, "n d"], settings: Settings
) -> Checkpoint | None:
    """The checkpoint of the fit, if the user gave a folder for it."""
    if settings.folder is None:
        return None
    data = (rows, problem.y) if problem.weights is None else (rows, problem.y, problem.weights)
    return Checkpoint(Path(settings.folder), fingerprint(f"{design!r} {settings.budget}", *data))
