"""Sparse regression with Gaussian noise: hyperparameters from the evidence of some rows, q(u) from all of them."""

from dataclasses import replace
from time import perf_counter
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.evidence_fit import EvidenceFit, fit_evidence, subset
from gplens.estimators.fitting import QUIET, Fit, Problem, Settings, fit_by_minibatches
from gplens.estimators.host_objects import noise_object, solved_sparse
from gplens.estimators.linear_rivals import compare_sparse
from gplens.estimators.parameters import Design
from gplens.estimators.quasi_newton import JITTER, checkpoint_of, reason, start_of, structure_of
from gplens.estimators.scaling import Scaling, noise_in_table_units
from gplens.estimators.stated_noise import calibrated_noise
from gplens.estimators.training.ascent import ALL_STEPS, CONVERGED, Ascent
from gplens.estimators.training.checkpoint import Checkpoint, State
from gplens.estimators.training.climb import FEW_POINTS, LOOSE, WORTH, Climb, further_points
from gplens.estimators.training.collapsed import CollapsedBound
from gplens.estimators.training.fit_sizes import FitPlan, GaussianPlan
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Best, Watch
from gplens.estimators.training.regression_prior import widened
from gplens.estimators.training.rows import LARGE, PLACEMENTS, generator_of

TIGHT = 0.002
"""The loss in nats per row (6.10) below which no further inducing points are added."""
KERNEL = "kernel"
"""The place of the kernel among its candidates, in a checkpoint."""


def fit_sparse_regression(
    design: Design, problem: Problem, X: Float[Tensor, "n d"], scaling: Scaling, settings: Settings
) -> Fit:
    """Maximise the evidence of as many rows as the budget allows, then compute q(u) of all rows (6.4).

    The collapsed bound (6.3) prefers functions that few inducing points can represent: more noise, longer lengthscales.
    The evidence does not. If the inducing points lose much (6.10), the bound is maximised too, with inducing points
    that move, and the model that predicts held-out rows better is kept.
    """
    if design.training is not None:
        return fit_by_minibatches(design, problem, X, scaling, settings)
    began, seed = perf_counter(), design.seed
    plan = GaussianPlan.of(len(X), design.inducing_points, settings.budget)
    if plan.used < len(X):
        problem, X = _part(design, problem, X, plan.used)
    rows = scaling.apply(X)
    with Watch(settings.budget, began, settings.show) as watch:
        checkpoint = checkpoint_of(design, problem, rows, settings)
        result = _evidence(design, problem, rows, plan.rows, watch, checkpoint)
        design, structure, ascent = result.design, result.structure, result.ascent
        whole = CollapsedBound(structure, rows, problem.y, problem.weights)
        at = widened(ascent.best, structure, float(plan.rows))
        at = replace(at, Z=_points(design, structure, rows, at, plan.points))
        q = whole.solve(at, watch)
        slack = whole.slack_of(at, q.P)
        verdict = compare_sparse(problem, rows, at, structure, q, seed)
        if slack >= LOOSE and ascent.stopped in (CONVERGED, ALL_STEPS):
            climb, moved = _with_moving_points(design, problem, structure, rows, at, settings, watch)
            moved_q = whole.solve(moved, watch)
            moved_verdict = compare_sparse(problem, rows, moved, structure, moved_q, seed)
            key = "held_out_log_density"
            if moved_verdict.get(key, moved_q.value) > verdict.get(key, q.value):
                at, q, verdict, slack = moved, moved_q, moved_verdict, climb.slack
        if checkpoint is not None and not watch.interrupted:
            checkpoint.remove()
    assert at.Z is not None
    stopped = ascent.stopped if slack < WORTH or ascent.stopped != CONVERGED else FEW_POINTS
    tight = stopped == CONVERGED  # then the noise is that of the evidence, as in an exact model
    noise = at.log_noise if tight else calibrated_noise(problem, rows, at, structure, q, seed)
    summary: dict[str, Any] = {"inference": "sparse", "kernel": design.kernel, "inducing_points": at.Z.shape[1]}
    summary |= {"seed": seed, "optimizer": "L-BFGS", "steps": ascent.steps, "evaluations": watch.evaluations}
    summary |= {"stopped": reason(ascent.stopped, "evidence"), "held_back": None if stopped == CONVERGED else stopped}
    summary |= {"hyperparameter_rows": plan.rows, "rows_used": plan.used, "elbo_per_row": q.value, **verdict}
    likelihood = noise_in_table_units(noise_object(replace(at, log_noise=noise)), problem.scale)
    fitted = solved_sparse(design, problem, structure, at, q, scaling)
    return Fit(fitted, likelihood, {**summary, "seconds": perf_counter() - began})


def _part(design: Design, problem: Problem, X: Float[Tensor, "n d"], count: int) -> tuple[Problem, Tensor]:
    """A random part of the rows."""
    part = torch.randperm(len(X), generator=generator_of(design.seed, LARGE))[:count].sort().values
    weights = None if problem.weights is None else problem.weights[part]
    return replace(problem, y=problem.y[part], weights=weights), X[part]


def _evidence(
    design: Design,
    problem: Problem,
    rows: Float[Tensor, "n d"],
    count: int,
    watch: Watch,
    checkpoint: Checkpoint | None,
) -> EvidenceFit:
    """Kernel and hyperparameters from the evidence of a random part of the rows; from a checkpoint if there is one."""
    if checkpoint is not None and (state := checkpoint.load()) is not None:
        tensors = dict(state.tensors)
        design = replace(design, kernel=design.kernels[int(tensors.pop(KERNEL))])
        structure = structure_of(design, rows, JITTER)
        at = replace(start_of(design, problem, structure, noisy=True), **tensors)
        return EvidenceFit(design, structure, Ascent(at, state.best.value, state.step, CONVERGED))
    result = fit_evidence(design, problem, rows, count, JITTER, QUIET, watch)
    ascent = result.ascent
    if checkpoint is not None and ascent.stopped in (CONVERGED, ALL_STEPS):
        kernel = torch.tensor(design.kernels.index(result.design.kernel))
        checkpoint.save(State(ascent.steps, {**ascent.best.tensors(), KERNEL: kernel}, Best(ascent.value)))
    return result


def _points(
    design: Design, structure: Structure, rows: Float[Tensor, "n d"], at: Hyperparameters, count: int
) -> Float[Tensor, "1 m d"]:
    """Rows that the others explain least, until little is left to explain; or the placement given by `inducing=`."""
    if design.inducing != "auto":
        return PLACEMENTS[design.inducing](rows, count, design.seed)[None]
    assert at.log_noise is not None
    enough = 2 * TIGHT * float(at.log_noise.exp())
    return further_points(at, structure, rows, count, design.seed, enough)[None]


def _with_moving_points(
    design: Design,
    problem: Problem,
    structure: Structure,
    rows: Float[Tensor, "n d"],
    at: Hyperparameters,
    settings: Settings,
    watch: Watch,
) -> tuple[Climb, Hyperparameters]:
    """The maximum of the collapsed bound of some rows over all parameters, from `at`, with as many points as pay."""
    assert at.Z is not None
    plan = FitPlan.of(len(rows), None, design.inducing_points, settings.budget)
    part = subset(design, len(rows), plan.rows)
    w = None if problem.weights is None else problem.weights[part]
    bound = CollapsedBound(structure, rows[part], problem.y[part], w)
    climb = Climb(bound, structure, rows[part], plan.rungs, design.seed, QUIET, watch)
    return climb, climb.stage(replace(at, Z=at.Z[:, : plan.rungs[-1]]), moving=True)
