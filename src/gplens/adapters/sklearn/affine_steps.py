"""Transformers that are affine maps x W + offset, evaluated in the host's order of operations."""

from typing import Any

import torch
from sklearn.decomposition import PCA, FactorAnalysis, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection
from torch import Tensor

from gplens.adapters.sklearn.plans import Plan, plan_of, tensor
from gplens.processes.crossings import Levels
from gplens.processes.smooth_map import SmoothMap
from gplens.processes.transformed import AffineMap


@plan_of.register
def _(step: StandardScaler, features: int) -> Plan:
    return _scaled(features, step.scale_ if step.with_std else None, step.mean_ if step.with_mean else None)


@plan_of.register
def _(step: RobustScaler, features: int) -> Plan:
    return _scaled(features, step.scale_, step.center_)


@plan_of.register
def _(step: MaxAbsScaler, features: int) -> Plan:
    plan = _scaled(features, step.scale_, None)
    return _clipped(plan, -1.0, 1.0) if getattr(step, "clip", False) else plan


@plan_of.register
def _(step: MinMaxScaler, features: int) -> Plan:
    plan = Plan.smooth(AffineMap.shifted(tensor(step.scale_), tensor(step.min_)))
    return _clipped(plan, *map(float, step.feature_range)) if step.clip else plan


@plan_of.register
def _(step: PCA | IncrementalPCA, features: int) -> Plan:
    W = tensor(step.components_).T
    if step.whiten:
        W = W / tensor(step.explained_variance_).sqrt().clamp(min=torch.finfo(W.dtype).eps)  # as the host does
    return Plan.smooth(AffineMap.linear(W, tensor(step.mean_)))


@plan_of.register
def _(step: FastICA, features: int) -> Plan:
    return Plan.smooth(AffineMap.linear(tensor(step.components_).T, tensor(step.mean_) if step.whiten else None))


@plan_of.register
def _(step: FactorAnalysis, features: int) -> Plan:
    """E[z | x] = (x - mean) Psi^-1 W' (I + W Psi^-1 W')^-1."""
    W, precision = tensor(step.components_), 1 / tensor(step.noise_variance_)
    posterior = torch.linalg.inv(torch.eye(len(W), dtype=W.dtype) + (W * precision) @ W.T)
    return Plan.smooth(AffineMap.linear((W * precision).T @ posterior, tensor(step.mean_)))


@plan_of.register
def _(step: TruncatedSVD, features: int) -> Plan:
    return Plan.smooth(AffineMap.linear(tensor(step.components_).T))


@plan_of.register
def _(step: GaussianRandomProjection | SparseRandomProjection, features: int) -> Plan:
    W = step.components_
    return Plan.smooth(AffineMap.linear(tensor(W.toarray() if hasattr(W, "toarray") else W).T))


@plan_of.register
def _(step: SelectorMixin, features: int) -> Plan:
    return Plan.smooth(AffineMap.columns(features, torch.as_tensor(step.get_support())))


def _scaled(features: int, scale: Any, centre: Any) -> Plan:
    """(x - centre) / scale; either may be None."""
    divisor = torch.ones(features, dtype=torch.float64) if scale is None else tensor(scale)
    return Plan.smooth(AffineMap.scaled(divisor, None if centre is None else tensor(centre)))


def _clipped(plan: Plan, low: float, high: float) -> Plan:
    """Outputs clipped to an interval, with a kink at each end."""

    def clip(x: Tensor) -> tuple[Tensor, Tensor]:
        return x.clamp(low, high), ((x >= low) & (x <= high)).to(x.dtype)

    ends = (torch.tensor([low, high], dtype=torch.float64),) * plan.map.outputs
    bounded = SmoothMap.elementwise(plan.map.outputs, clip, Levels(lambda x: x, ends))
    return Plan.smooth(plan.map.then(bounded))
