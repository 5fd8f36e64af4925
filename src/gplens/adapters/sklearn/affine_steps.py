"""Transformers that are affine maps x W + offset, evaluated in the host's order of operations."""

from typing import Any

import torch
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from torch import Tensor

from gplens.adapters.sklearn.plans import StepPlan, plan_of, tensor
from gplens.processes.crossings import Levels
from gplens.processes.smooth_map import SmoothMap
from gplens.processes.transformed import AffineMap


@plan_of.register
def _(step: StandardScaler, features: int) -> StepPlan:
    return _scaled(features, step.scale_ if step.with_std else None, step.mean_ if step.with_mean else None)


@plan_of.register
def _(step: RobustScaler, features: int) -> StepPlan:
    return _scaled(features, step.scale_, step.center_)


@plan_of.register
def _(step: MaxAbsScaler, features: int) -> StepPlan:
    plan = _scaled(features, step.scale_, None)
    return _clipped(plan, -1.0, 1.0) if getattr(step, "clip", False) else plan


@plan_of.register
def _(step: MinMaxScaler, features: int) -> StepPlan:
    plan = StepPlan.smooth(AffineMap.shifted(tensor(step.scale_), tensor(step.min_)))
    return _clipped(plan, *map(float, step.feature_range)) if step.clip else plan


@plan_of.register
def _(step: PCA | IncrementalPCA, features: int) -> StepPlan:
    W = tensor(step.components_).T
    if step.whiten:
        W = W / tensor(step.explained_variance_).sqrt().clamp(min=torch.finfo(W.dtype).eps)  # as the host does
    return StepPlan.smooth(AffineMap.linear(W, tensor(step.mean_)))


@plan_of.register
def _(step: FastICA, features: int) -> StepPlan:
    return StepPlan.smooth(AffineMap.linear(tensor(step.components_).T, tensor(step.mean_) if step.whiten else None))


@plan_of.register
def _(step: FactorAnalysis, features: int) -> StepPlan:
    """E[z | x] = (x - mean) Psi^-1 W' (I + W Psi^-1 W')^-1."""
    W, precision = tensor(step.components_), 1 / tensor(step.noise_variance_)
    posterior = torch.linalg.inv(torch.eye(len(W), dtype=W.dtype) + (W * precision) @ W.T)
    return StepPlan.smooth(AffineMap.linear((W * precision).T @ posterior, tensor(step.mean_)))


@plan_of.register
def _(step: TruncatedSVD, features: int) -> StepPlan:
    return StepPlan.smooth(AffineMap.linear(tensor(step.components_).T))


@plan_of.register
def _(step: GaussianRandomProjection | SparseRandomProjection, features: int) -> StepPlan:
    W = step.components_
    return StepPlan.smooth(AffineMap.linear(tensor(W.toarray() if hasattr(W, "toarray") else W).T))


@plan_of.register
def _(step: SelectorMixin, features: int) -> StepPlan:
    return StepPlan.smooth(AffineMap.columns(features, torch.as_tensor(step.get_support())))


def _scaled(features: int, scale: Any, centre: Any) -> StepPlan:
    """(x - centre) / scale; either may be None."""
    divisor = torch.ones(features, dtype=torch.float64) if scale is None else tensor(scale)
    return StepPlan.smooth(AffineMap.scaled(divisor, None if centre is None else tensor(centre)))


def _clipped(plan: StepPlan, low: float, high: float) -> StepPlan:
    """Outputs clipped to an interval, with a kink at each end."""

    def clip(x: Tensor) -> tuple[Tensor, Tensor]:
        return x.clamp(low, high), ((x >= low) & (x <= high)).to(x.dtype)

    ends = (torch.tensor([low, high], dtype=torch.float64),) * plan.map.outputs
    bounded = SmoothMap.elementwise(plan.map.outputs, clip, Levels(lambda x: x, ends))
    return StepPlan.smooth(plan.map.then(bounded))
