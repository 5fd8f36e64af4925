"""BoTorch's acquisition functions as functions psi of posterior moments, by their classes (MATH 11)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, final

import torch
from botorch.acquisition import analytic, monte_carlo
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.botorch.affine_objective import WeightedSum, affine_part
from gplens.expectations.acquisition import (
    Criterion,
    Exponential,
    HypervolumeImprovement,
    LogFeasibility,
    LogImprovement,
    LogImprovementProbability,
    MeanAndDeviation,
    SampledImprovement,
)
from gplens.expectations.acquisition.sampled_improvement import Excess, LogSoftExcess, SoftStep, Utility

MIN_VARIANCE, MIN_VARIANCE_OF_HYPERVOLUME = 1e-12, 1e-9
"""BoTorch's lower bound for variances of outcomes."""


@final
@dataclass(frozen=True, eq=False)
class Recognised:
    """psi, and the moments that it is a function of."""

    criterion: Criterion
    smallest: float | None = MIN_VARIANCE
    """The host's lower bound for variances; None for samples, which are drawn without one."""
    weights: Float[Tensor, " o"] | None = None
    """The weights and the offset of a scalarised posterior; None for any other."""
    offset: float = 0.0


def recognise(acquisition: Any) -> Recognised | None:
    """psi of one of BoTorch's own classes; None for all others, including subclasses, whose forward() may differ."""
    kind = type(acquisition)
    read = CRITERIA.get(kind)
    criterion = None if read is None else read(acquisition)
    if criterion is None:
        return None
    smallest = None if issubclass(kind, monte_carlo.MCAcquisitionFunction) else MIN_VARIANCE
    if kind is ExpectedHypervolumeImprovement:
        smallest = MIN_VARIANCE_OF_HYPERVOLUME
    transform: Any = acquisition.posterior_transform
    if transform is None:
        return Recognised(criterion, smallest)
    if type(transform) is not ScalarizedPosteriorTransform or smallest == MIN_VARIANCE_OF_HYPERVOLUME:
        return None
    return Recognised(
        criterion, smallest, torch.as_tensor(transform.weights).detach().cpu().double(), float(transform.offset)
    )


def _number(acquisition: Any, name: str) -> float:
    value = torch.as_tensor(getattr(acquisition, name))
    if value.numel() != 1:
        raise ValueError(
            f"expected one {name} for {type(acquisition).__name__}, got {value.numel()} of them, one for each member "
            "of a batch; create an acquisition function for each of them."
        )
    return float(value)


def _sign(acquisition: Any) -> float:
    return 1.0 if acquisition.maximize else -1.0


def _confidence_bound(acquisition: Any) -> Criterion:
    return MeanAndDeviation(_sign(acquisition), sqrt(_number(acquisition, "beta")))


def _scalarised_mean(acquisition: Any) -> Criterion:
    return MeanAndDeviation(_number(acquisition, "weights"))


def _log_improvement(acquisition: Any) -> LogImprovement:
    return LogImprovement(_number(acquisition, "best_f"), _sign(acquisition))


def _log_probability(acquisition: Any) -> Criterion:
    return LogImprovementProbability(_number(acquisition, "best_f"), _sign(acquisition))


def _feasibility(acquisition: Any) -> LogFeasibility:
    bounds = [
        (int(i), -inf if low is None else float(low), inf if high is None else float(high))
        for i, (low, high) in acquisition.constraints.items()
    ]
    return LogFeasibility(tuple(bounds))


def _constrained(acquisition: Any) -> LogFeasibility:
    objective = int(acquisition.objective_index), _log_improvement(acquisition)
    return LogFeasibility(_feasibility(acquisition).bounds, objective)


def _hypervolume(acquisition: Any) -> Criterion:
    lower, upper = (
        getattr(acquisition, f"cell_{side}_bounds").detach().cpu().double().reshape(-1, acquisition.model.num_outputs)
        for side in ("lower", "upper")
    )
    return HypervolumeImprovement(lower, upper)


def _samples(acquisition: Any) -> tuple[Float[Tensor, "n o"], WeightedSum] | None:
    """Base samples of one point, and the objective; None if psi is not a function of these alone."""
    z, outputs = getattr(acquisition.sampler, "base_samples", None), acquisition.model.num_outputs
    outputs = 1 if acquisition.posterior_transform is not None else outputs
    plain = acquisition.X_pending is None and acquisition._constraints is None
    if not plain or z is None or z.numel() != outputs * len(z) or len(acquisition.sample_shape) != 1:
        return None
    objective = affine_part(acquisition.objective, outputs)
    return None if objective is None else (z.detach().cpu().double().reshape(len(z), outputs), objective)


def _sampled(utility: Callable[[Any], Utility]) -> Callable[[Any], Criterion | None]:
    """An average over samples of their utilities."""

    def read(acquisition: Any) -> Criterion | None:
        drawn = _samples(acquisition)
        if drawn is None:
            return None
        z, objective = drawn
        best = _number(acquisition, "best_f") - objective.offset
        return SampledImprovement(z, objective.weights, best, utility(acquisition))

    return read


def _linear(acquisition: Any) -> Criterion | None:
    """At q = 1 an average of  w (m + sd z) + b + beta' |w sd (z - mean z)|  is affine in m and sd."""
    drawn = _samples(acquisition)
    if drawn is None or drawn[0].shape[1] != 1:
        return None
    z, w = drawn[0][:, 0], float(drawn[1].weights)
    width = getattr(acquisition, "beta_prime", 0.0)
    deviation = float(w * z.mean() + width * abs(w) * (z - z.mean()).abs().mean())
    return MeanAndDeviation(w, deviation, drawn[1].offset)


def _soft_excess(acquisition: Any) -> LogSoftExcess:
    return LogSoftExcess(float(acquisition.tau_relu), bool(acquisition._fat))


CRITERIA: dict[type, Callable[[Any], Criterion | None]] = {
    analytic.PosteriorMean: lambda a: MeanAndDeviation(_sign(a)),
    analytic.ScalarizedPosteriorMean: _scalarised_mean,
    analytic.PosteriorStandardDeviation: lambda a: MeanAndDeviation(0.0, _sign(a)),
    analytic.UpperConfidenceBound: _confidence_bound,
    analytic.LogExpectedImprovement: _log_improvement,
    analytic.ExpectedImprovement: lambda a: Exponential(_log_improvement(a)),
    analytic.LogProbabilityOfImprovement: _log_probability,
    analytic.ProbabilityOfImprovement: lambda a: Exponential(_log_probability(a)),
    analytic.LogProbabilityOfFeasibility: _feasibility,
    analytic.LogConstrainedExpectedImprovement: _constrained,
    analytic.ConstrainedExpectedImprovement: lambda a: Exponential(_constrained(a)),
    ExpectedHypervolumeImprovement: _hypervolume,
    monte_carlo.qExpectedImprovement: _sampled(lambda a: Excess()),
    monte_carlo.qProbabilityOfImprovement: _sampled(lambda a: SoftStep(float(a.tau))),
    qLogExpectedImprovement: _sampled(_soft_excess),
    monte_carlo.qSimpleRegret: _linear,
    monte_carlo.qUpperConfidenceBound: _linear,
    monte_carlo.qLowerConfidenceBound: _linear,
}
"""psi by exact class. A new class needs one line here, and a case in tests/adapters/botorch/acquisition_zoo.py."""
