"""What explain() does about uncertainty: the request that the user meant, and the error bars of an Explanation."""

from dataclasses import replace

from jaxtyping import Bool
from torch import Tensor

from gplens.baselines import Baseline
from gplens.explanation import Explanation
from gplens.uncertainty.engine import Inquiry, Spread
from gplens.uncertainty.requests import Diagonal, Full, Samples, Uncertainty


def requested(uncertainty: Uncertainty, start: Baseline, *, grouped: bool) -> Uncertainty:
    """What is to be computed; a group's standard deviation needs the covariances of its features."""
    if start.background:
        raise ValueError(
            "The uncertainty of an average over a background is not available: its paths are correlated. Use a single "
            "baseline, such as gplens.baselines.Mean(X)."
        )
    return Full() if grouped and isinstance(uncertainty, Diagonal) else uncertainty


def with_spread(explanation: Explanation, sure: Spread, inquiry: Inquiry) -> Explanation:
    """The explanation with its error bars, without an axis of outputs where there is only one."""
    single, request = explanation.output_names is None, inquiry.request

    def shaped(tensor: Tensor | None, axis: int = 1) -> Tensor | None:
        return tensor.squeeze(axis) if tensor is not None and single else tensor

    return replace(
        explanation,
        std=shaped(sure.std),
        std_error=shaped(sure.std_error),
        covariance=shaped(sure.covariance),
        draws=shaped(sure.draws, 2),
        joint_draws=not isinstance(request, Samples) or request.joint,
        gaussian=inquiry.gaussian,
        converged=_both(explanation.converged, sure.converged),
    )


def _both(values: Bool[Tensor, " b"] | None, deviations: Bool[Tensor, " b"]) -> Bool[Tensor, " b"] | None:
    """Whether values and deviations converged; a rule that cannot tell says nothing unless the deviations did not."""
    if values is None:
        return None if bool(deviations.all()) else deviations
    return values & deviations
