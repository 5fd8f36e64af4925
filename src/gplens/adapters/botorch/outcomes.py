"""BoTorch's outcome transforms, undone: a scale and a shift of a Gaussian outcome, then a link (MATH 2)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from botorch.models.transforms.outcome import Bilog, ChainedOutcomeTransform, Log, Power, Standardize
from jaxtyping import Float
from torch import Tensor

from gplens.kernels import Scale
from gplens.lines.forms import Quadratic
from gplens.links import Exp, Identity, Link
from gplens.means import AutogradMean, ConstantMean, LinearMean, Mean
from gplens.processes.posterior import Posterior

REFUSED = {
    Power: "BoTorch gives no mean for it: posterior(X).mean does not exist, only samples do",
    Bilog: "BoTorch gives no mean for it: posterior(X).mean does not exist, only samples do",
}


@final
@dataclass(frozen=True, eq=False)
class RawOutcome:
    """y = g(scale f + shift) for each output; g is exp if the outcome was transformed by a logarithm."""

    scale: Float[Tensor, " c"]
    shift: Float[Tensor, " c"]
    link: Link


def read_outcome(model: Any, outputs: int) -> RawOutcome:
    """The model's outcome transform, undone."""
    unit = torch.ones(outputs, dtype=torch.float64)
    outcome = RawOutcome(unit, 0 * unit, Identity())
    for transform in _undone(getattr(model, "outcome_transform", None)):
        outcome = _after(outcome, transform)
    if model._is_fully_bayesian and outcome.link != Identity():
        raise ValueError(
            f"expected the outcome transform Standardize for a {type(model).__name__}, got a logarithm, with which "
            "BoTorch has no posterior of a fully Bayesian model; fit it on the logarithms of the outcomes."
        )
    return outcome


def _undone(transform: Any) -> Iterator[Any]:
    """Single transforms, the last one first."""
    if isinstance(transform, ChainedOutcomeTransform):
        for link in reversed(list(transform.values())):
            yield from _undone(link)
    elif transform is not None:
        yield transform


def _after(outcome: RawOutcome, transform: Any) -> RawOutcome:
    kind = type(transform)
    if kind not in (Standardize, Log):
        why = REFUSED.get(kind, "what it does is unknown")
        raise ValueError(
            f"expected the outcome transforms Standardize, Log or chains of these, got {kind.__name__} ({why}); fit "
            "the model with one of them, or on outcomes that were transformed before."
        )
    if transform._outputs is not None:
        raise ValueError(
            f"expected an outcome transform of all outputs, got {kind.__name__}(outputs={transform._outputs}), for "
            "which BoTorch has no posterior; use a ModelListGP with a transform for each output."
        )
    if outcome.link != Identity():
        raise ValueError(
            f"expected a logarithm as the first of chained outcome transforms, got {kind.__name__} before it, whose "
            "outcome is not Gaussian, as BoTorch's mean supposes; write ChainedOutcomeTransform(log=Log(), "
            "scale=Standardize(m=1))."
        )
    return _standardised(outcome, transform) if kind is Standardize else replace(outcome, link=Exp())


def _standardised(outcome: RawOutcome, transform: Standardize) -> RawOutcome:
    if not bool(transform._is_trained):
        raise ValueError("expected a fitted Standardize, got one that never saw any outcomes; fit the model.")
    scale, shift = (torch.as_tensor(part)[0].expand(len(outcome.scale)) for part in (transform.stdvs, transform.means))
    return replace(outcome, scale=scale * outcome.scale, shift=scale * outcome.shift + shift)


def rescale(posterior: Posterior, scale: Float[Tensor, ""], shift: Float[Tensor, ""]) -> Posterior:
    """scale f + shift: s^2 k, beta/s, A/s^2, s mu + shift."""
    kernel, factor, A = posterior.kernel, scale**2, posterior.A
    kernel = Scale(kernel.kernel, kernel.variance * factor) if isinstance(kernel, Scale) else Scale(kernel, factor)
    means = [_rescale_mean(mean, float(scale), float(shift)) for mean in posterior.means]
    jitter = posterior.jitter * float(scale) ** 2
    return Posterior(kernel, posterior.Z, posterior.beta / scale, Quadratic(A.F / scale, A.s), means, jitter=jitter)


def _rescale_mean(mean: Mean, scale: float, shift: float) -> Mean:
    if isinstance(mean, ConstantMean):
        return ConstantMean(scale * mean.value + shift)
    if isinstance(mean, LinearMean):
        return LinearMean(scale * mean.weight, scale * mean.bias + shift)
    return AutogradMean(lambda X: scale * mean(X) + shift)
