"""Pending points of BoTorch's acquisition functions, and copies that have further ones (MATH 11.10)."""

from copy import deepcopy
from typing import Any

import torch
from botorch.acquisition import FixedFeatureAcquisitionFunction, ProximalAcquisitionFunction
from botorch.acquisition.penalized import PenalizedAcquisitionFunction
from botorch.models.model import Model
from botorch.utils.multi_objective.hypervolume import NoisyExpectedHypervolumeMixin
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.modules import reference


def with_pending(acquisition: Any, earlier: Float[Tensor, "i d"]) -> Any:
    """The acquisition function with its own pending points and `earlier` ones; itself if it has these already.

    Otherwise a copy, which shares the model. In place, points cannot be taken back: after
    `set_X_pending(X)`, `set_X_pending(None)` leaves X in the cells of a noisy hypervolume, and removes the points that
    a noisy improvement was made with. `optimize_acqf(..., sequential=True)` calls both.
    """
    if not len(earlier) and not _hypervolumes_of_others(acquisition):
        return acquisition
    if len(earlier) and any(isinstance(part, ProximalAcquisitionFunction) for part in acquisition.modules()):
        raise ValueError(
            f"expected an acquisition function that can have pending points, got {type(acquisition).__name__}, whose "
            "ProximalAcquisitionFunction is one of single candidates; explain each of them by gplens.explain."
        )
    copied, pending = deepcopy(acquisition, _shared(acquisition)), pending_points(acquisition)
    for part in _hypervolumes_of_others(copied):
        _forget_pending(part)
    if len(earlier):
        _set_pending(copied, pending, earlier.to(reference(acquisition)))
    return copied


def pending_points(acquisition: Any) -> Float[Tensor, "p d"] | None:
    """The pending points of an acquisition function. Noisy improvements keep them as the last ones of a baseline."""
    inner = _inner(acquisition)
    if inner is not None:
        return pending_points(inner)
    baseline = getattr(acquisition, "_full_X_baseline", None)
    if baseline is not None and acquisition.incremental:
        kept = baseline[len(acquisition._X_baseline) :]
        return kept if len(kept) else None
    return getattr(acquisition, "X_pending", None)


def _inner(acquisition: Any) -> Any:
    """The function inside of one that passes pending points on; None if there is none."""
    if isinstance(acquisition, FixedFeatureAcquisitionFunction):
        return acquisition.acq_func
    return acquisition.raw_acqf if isinstance(acquisition, PenalizedAcquisitionFunction) else None


def _set_pending(acquisition: Any, pending: Float[Tensor, "p d"] | None, earlier: Float[Tensor, "i e"]) -> None:
    """`pending` have all columns; `earlier` may lack those that are fixed, as candidates may."""
    if isinstance(acquisition, FixedFeatureAcquisitionFunction):
        if earlier.shape[1] == acquisition.d:
            values: Any = acquisition.values
            earlier = earlier[:, torch.tensor(acquisition._selector) < acquisition.d - values.shape[-1]]
        _set_pending(acquisition.acq_func, pending, acquisition._construct_X_full(earlier))
        return
    acquisition.set_X_pending(earlier if pending is None else torch.cat([pending, earlier]))


def _hypervolumes_of_others(acquisition: Any) -> list[Any]:
    """Noisy hypervolumes without pending points whose cells contain some that they had before."""
    parts = getattr(acquisition, "modules", list)()
    noisy: list[Any] = [part for part in parts if isinstance(part, NoisyExpectedHypervolumeMixin)]
    return [part for part in noisy if part.X_pending is None and len(part.X_baseline) > len(part._X_baseline)]


def _forget_pending(acquisition: Any) -> None:
    """The cells above the fronts of the baseline alone, by the same samples, as when the function was made."""
    acquisition._X_baseline_and_pending = acquisition._X_baseline
    acquisition._prev_nehvi = torch.zeros_like(acquisition._prev_nehvi)
    acquisition._set_cell_bounds(num_new_points=len(acquisition._X_baseline))
    acquisition.q_in = -1


def _shared(acquisition: Any) -> dict[int, Any]:
    """What a deep copy does not copy: models, and tensors that torch cannot copy since they are parts of a graph."""
    shared: dict[int, Any] = {}
    for part in acquisition.modules():
        if isinstance(part, Model):
            shared[id(part)] = part
        for value in (*part._buffers.values(), *vars(part).values()):
            if isinstance(value, Tensor) and not value.is_leaf:
                shared[id(value)] = value.detach()
    return shared
