"""Exact regression with Gaussian noise: kernel and hyperparameters from the evidence of all rows."""

from time import perf_counter
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.evidence_fit import fit_evidence
from gplens.estimators.fitting import Fit, Problem, Settings
from gplens.estimators.gp_models import Exact, prior_mean
from gplens.estimators.host_objects import kernel_object, noise_object
from gplens.estimators.linear_rivals import compare_exact
from gplens.estimators.parameters import Design
from gplens.estimators.quasi_newton import reason
from gplens.estimators.scaling import Scaling, exact_in_table_units, noise_in_table_units
from gplens.estimators.training.ascent import CONVERGED
from gplens.estimators.training.evidence import log_evidence
from gplens.estimators.training.monitor import Watch
from gplens.estimators.training.regression_prior import SILENT, widened


def fit_exactly(design: Design, problem: Problem, X: Float[Tensor, "n d"], scaling: Scaling, settings: Settings) -> Fit:
    """Maximise the evidence times the prior of the hyperparameters; the result is in the units of the table."""
    began, rows, n = perf_counter(), scaling.apply(X), len(X)
    y, w = problem.y, problem.weights
    with Watch(settings.budget, began, settings.show) as watch:
        result = fit_evidence(design, problem, rows, n, 0.0, SILENT, watch)
    design, structure, ascent = result.design, result.structure, result.ascent
    with torch.no_grad():
        evidence = float(log_evidence(ascent.best, structure, rows, y, w)) / n
    at = widened(ascent.best, structure, float(n if w is None else w.sum()))
    noise = noise_object(at)
    assert at.mean is not None
    kernel = kernel_object(design, structure, at)
    model = Exact(rows, y, noise, kernel, prior_mean(None, float(at.mean))).double()
    table_y = problem.shift + problem.scale * y
    fitted = exact_in_table_units(
        model, design.kernel, scaling, X, table_y, w, shift=problem.shift, scale=problem.scale
    )
    likelihood: Any = fitted.likelihood if w is None else noise_in_table_units(noise, problem.scale)
    summary = {"inference": "exact", "kernel": design.kernel, "seed": design.seed, "optimizer": "L-BFGS"}
    summary |= {"steps": ascent.steps, "evaluations": watch.evaluations}
    summary |= {"stopped": reason(ascent.stopped, "evidence"), "log_evidence_per_row": evidence}
    summary |= {"held_back": None if ascent.stopped == CONVERGED else ascent.stopped}
    summary |= compare_exact(problem, rows, at, structure, design.seed)
    return Fit(fitted, likelihood, {**summary, "seconds": perf_counter() - began})
