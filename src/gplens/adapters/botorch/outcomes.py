"""BoTorch's outcome transforms, as they are undone: scales and shifts of a Gaussian outcome, then a link (MATH 2)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from botorch.models.transforms.outcome import Bilog, ChainedOutcomeTransform, Log, Power, Standardize
from jaxtyping import Float
from torch import Tensor

from gplens.links import Exp, Identity, Link

REFUSED = {
    Power: "BoTorch gives no mean for it: posterior(X).mean does not exist, only samples do",
    Bilog: "BoTorch gives no mean for it: posterior(X).mean does not exist, only samples do",
}


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """y = g(scale f + shift) for each output, with g = exp where a logarithm was taken."""

    scale: Float[Tensor, " c"]
    shift: Float[Tensor, " c"]
    link: Link


def read_outcome(model: Any, outputs: int) -> Outcome:
    """The model's outcome transform, undone."""
    one = torch.ones(outputs, dtype=torch.float64)
    found = Outcome(one, 0 * one, Identity())
    for transform in _undone(getattr(model, "outcome_transform", None)):
        found = _after(found, transform)
    return found


def _undone(transform: Any) -> Iterator[Any]:
    """Single transforms, the last one first."""
    if isinstance(transform, ChainedOutcomeTransform):
        for link in reversed(list(transform.values())):
            yield from _undone(link)
    elif transform is not None:
        yield transform


def _after(found: Outcome, transform: Any) -> Outcome:
    kind = type(transform)
    if kind not in (Standardize, Log):
        why = REFUSED.get(kind, "gplens knows it only by its name")
        raise ValueError(
            f"The outcome transform {kind.__name__} cannot be explained: {why}. Wanted were Standardize, Log and "
            "chains of these. Fit the model with one of them, or on outcomes that were transformed before."
        )
    if transform._outputs is not None:
        raise ValueError(
            f"{kind.__name__}(outputs={transform._outputs}) has no posterior in BoTorch, which untransforms all "
            "outputs or none. Use a ModelListGP with a transform for each output."
        )
    if found.link != Identity():
        raise ValueError(
            f"The outcome transform takes {kind.__name__} before a logarithm. Undone, it follows an exponential, which "
            "is no Gaussian any more, as BoTorch's mean supposes. Put the logarithm first: ChainedOutcomeTransform("
            "log=Log(), scale=Standardize(m=1))."
        )
    return _standardised(found, transform) if kind is Standardize else replace(found, link=Exp())


def _standardised(found: Outcome, transform: Standardize) -> Outcome:
    if not bool(transform._is_trained):
        raise ValueError("The outcome transform Standardize never saw any outcomes, so that its scale is not known.")
    scale, shift = (torch.as_tensor(part)[0].expand(len(found.scale)) for part in (transform.stdvs, transform.means))
    return replace(found, scale=scale * found.scale, shift=scale * found.shift + shift)
