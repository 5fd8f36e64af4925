"""From a table to a sparse GPyTorch model with sites that L-BFGS has fitted."""

from dataclasses import replace
from math import log
from pathlib import Path
from time import perf_counter

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.estimators.fitting import QUIET, Fit, Problem, Settings, fit_by_minibatches
from gplens.estimators.host_objects import solved_sparse
from gplens.estimators.linear_rivals import compare_sparse
from gplens.estimators.parameters import Design
from gplens.estimators.scaling import Scaling
from gplens.estimators.stated_probabilities import calibrated_factor
from gplens.estimators.training.ascent import CONVERGED
from gplens.estimators.training.checkpoint import Checkpoint, fingerprint
from gplens.estimators.training.climb import Climb
from gplens.estimators.training.fit_sizes import FitPlan
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch
from gplens.estimators.training.rows import PLACEMENTS, SUBSET, generator_of
from gplens.estimators.training.site_bound import SiteBound
from gplens.estimators.training.sites import SiteTerms

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


def fit_in_stages(
    design: Design, problem: Problem, X: Float[Tensor, "n d"], scaling: Scaling, settings: Settings
) -> Fit:
    """Learn hyperparameters and inducing points, then compute the optimal q(u) of all rows; in the table's units.

    Sites of the rows follow the hyperparameters (6.5).
    """
    began, rows = perf_counter(), scaling.apply(X)
    structure = structure_of(design, rows, JITTER * problem.variance)
    plan = FitPlan.of(len(X), problem.latents or 1, design.inducing_points, settings.budget)
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
