"""The kinks of acquisition functions of which only values are known, found from their own samples (MATH 11.9)."""

from typing import Any

import torch
from botorch.acquisition.logei import LogImprovementMCAcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.modules import reference, without_warnings_of_jitter
from gplens.expectations.acquisition.sampled_improvement import graded_thresholds
from gplens.processes.crossings import Levels

MOST = 4096
"""The most thresholds: with more, finding kinks takes longer than refinement without their places."""

GRADES = 8
"""Powers of four, in units of tau, at which paths are cut around every bound of a cell: the bend of width tau adds its
width to the error, whatever the tolerance. Recipe: tests/adapters/botorch/test_acquisition_conformance.py"""


def kinks_of_samples(acquisition: Any, x: Float[Tensor, "k d"]) -> Levels | None:
    """Functions of the samples at a candidate whose signs decide their utilities; None if they are not known."""
    levels = None
    if hasattr(acquisition, "cell_lower_bounds"):
        levels = _cells(acquisition, x)
    elif hasattr(acquisition, "_get_samples_and_objectives"):
        levels = _improvements(acquisition, x)
    many = levels is not None and sum(len(thresholds) for thresholds in levels.thresholds) > MOST
    return None if many else levels


def _improvements(acquisition: Any, x: Float[Tensor, "k d"]) -> Levels | None:
    """The improvement of each sample over the best value; for a logarithm, also the largest improvement."""
    noisy = hasattr(acquisition, "compute_best_f")
    if not (hasattr(acquisition, "best_f") or noisy):
        return None
    if getattr(acquisition, "X_pending", None) is not None:
        return None if noisy else _beside_pending(acquisition)
    zero = (torch.zeros(1, dtype=torch.float64),) * improvements(acquisition, x[:1]).shape[1]
    if not isinstance(acquisition, LogImprovementMCAcquisitionFunction):
        return Levels(lambda x: improvements(acquisition, x), zero)

    def with_largest(x: Float[Tensor, "k d"]) -> Float[Tensor, "k r"]:
        y = improvements(acquisition, x)
        return torch.cat([y, y.amax(1, keepdim=True)], dim=1)

    tau: Any = acquisition.tau_relu
    return Levels(with_largest, (*zero, graded_thresholds(float(tau))))


def improvements(acquisition: Any, x: Float[Tensor, "k d"]) -> Float[Tensor, "k n"]:
    """The objective of each sample at the candidate minus the best objective of this sample."""
    with torch.no_grad(), without_warnings_of_jitter():
        objectives = acquisition._get_samples_and_objectives(x[:, None].to(reference(acquisition)))[1]
        noisy = hasattr(acquisition, "compute_best_f")
        best = acquisition.compute_best_f(objectives) if noisy else acquisition.best_f
        y = objectives[..., 0] - (best[..., 0] if noisy and best.ndim == objectives.ndim else best)
    return _by_point(y, len(x))


def _beside_pending(acquisition: Any) -> Levels | None:
    """Improvements of the samples at the candidate and at the pending points, and the candidate's beyond each of these.

    None for a logarithm, whose maximum over points is smooth, and for one best value for each draw of hyper-parameters.
    """
    if isinstance(acquisition, LogImprovementMCAcquisitionFunction) or acquisition.best_f.ndim:
        return None
    pending: Any = acquisition.X_pending

    def functions(x: Float[Tensor, "k d"]) -> Float[Tensor, "k r"]:
        points = x[:, None].to(reference(acquisition))
        points = torch.cat([points, pending.expand(len(points), -1, -1)], dim=1)
        with torch.no_grad(), without_warnings_of_jitter():
            objectives = acquisition._get_samples_and_objectives(points)[1]
        beyond = objectives[..., :1] - objectives[..., 1:]
        return _by_point(torch.cat([objectives - acquisition.best_f, beyond], dim=-1), len(x))

    return Levels(functions, (torch.zeros(1, dtype=torch.float64),) * functions(pending[:1]).shape[1])


def _cells(acquisition: Any, x: Float[Tensor, "k d"]) -> Levels | None:
    """Each objective of each sample, which passes the bounds of the cells above the Pareto front of this sample.

    For a logarithm, also how far the best sample is inside its cells: its smallest distance from their bounds.
    """
    drawn, shape = _objectives(acquisition, x[:1]), acquisition.cell_lower_bounds.shape[:-2]
    if drawn.shape[-2] != 1 or shape not in (torch.Size([]), drawn.shape[:1]):
        return None  # with pending points or draws of hyper-parameters
    lower, upper = (
        getattr(acquisition, f"cell_{side}_bounds").expand(len(drawn), -1, -1).to("cpu", torch.float64)
        for side in ("lower", "upper")
    )
    bounds = torch.cat([lower, upper], dim=1)
    each = tuple(column[column.isfinite()].unique() for sample in bounds for column in sample.T)
    tau = getattr(acquisition, "tau_relu", None)

    def functions(x: Float[Tensor, "k d"]) -> Float[Tensor, "k r"]:
        y = _objectives(acquisition, x)[..., 0, :].to("cpu", torch.float64)
        if tau is None:
            return _by_point(y, len(x))
        inside = (y[:, :, None] - lower[:, None]).amin(3).amax((0, 2))
        return torch.cat([_by_point(y, len(x)), inside[:, None]], dim=1)

    if tau is None:
        return Levels(functions, each)
    return Levels(functions, (*_graded(each, float(tau)), graded_thresholds(float(tau))))


def _graded(each: tuple[Float[Tensor, " _"], ...], tau: float) -> tuple[Float[Tensor, " _"], ...]:
    """The thresholds, and others at both sides of each where its bend fades; as they are if these are too many."""
    grades = tau * 4.0 ** torch.arange(GRADES, dtype=torch.float64)
    around = torch.cat([-grades.flip(0), grades.new_zeros(1), grades])
    graded = tuple((thresholds[:, None] + around).flatten().sort().values for thresholds in each)
    return graded if sum(len(thresholds) for thresholds in graded) <= MOST else each


def _objectives(acquisition: Any, x: Float[Tensor, "k d"]) -> Float[Tensor, "n k q m"]:
    points = x[:, None].to(reference(acquisition))
    with torch.no_grad(), without_warnings_of_jitter():
        if hasattr(acquisition, "_compute_posterior_samples_and_concat_pending"):
            samples, points = acquisition._compute_posterior_samples_and_concat_pending(points)
        else:
            samples = acquisition.get_posterior_samples(acquisition.model.posterior(points))
        return acquisition.objective(samples, X=points)


def _by_point(y: Float[Tensor, "n *rest"], points: int) -> Float[Tensor, "k r"]:
    """One row for each point, with the entries of all samples side by side."""
    return y.movedim(0, 1).reshape(points, -1).to("cpu", torch.float64)
