"""Composite transformers: in sequence, side by side, and on columns by their names."""

from typing import Any

import torch
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from gplens.adapters.sklearn.plans import Branch, Run, StepPlan, plan_of
from gplens.processes.smooth_map import SmoothMap
from gplens.processes.transformed import AffineMap


def sequence(steps: list[Any], features: int) -> StepPlan:
    """The plan of transformers of which each one takes the output of the previous one."""
    plan = None
    for i, step in enumerate(steps):
        check_is_fitted(step)
        if plan is None:
            plan = plan_of(step, features)
        else:
            plan = plan.then(plan_of(step, plan.map.outputs), after(steps[:i]), type(step).__name__)
    return StepPlan.smooth(AffineMap.columns(features)) if plan is None else plan


def after(steps: list[Any]) -> Run:
    """The output of the host for a table after several steps."""

    def run(X: Any) -> Any:
        for step in steps:
            X = step.transform(X)
        return X

    return run


def active(steps: Any) -> list[Any]:
    """The objects of named steps, without passthrough steps."""
    return [step for _, step in steps if step is not None and not isinstance(step, str)]


def leaves(step: Any) -> list[Any]:
    """The simple transformers of which a transformer consists, at any depth; itself if it is simple."""
    if isinstance(step, ColumnTransformer):
        parts = [inner for _, inner, _ in step.transformers_]
    elif isinstance(step, FeatureUnion | Pipeline):
        parts = [inner for _, inner in (step.transformer_list if isinstance(step, FeatureUnion) else step.steps)]
    else:
        return [step]
    return [leaf for part in parts if part is not None and not isinstance(part, str) for leaf in leaves(part)]


@plan_of.register
def _(step: Pipeline, features: int) -> StepPlan:
    return sequence(active(step.steps), features)


@plan_of.register
def _(step: FeatureUnion, features: int) -> StepPlan:
    """Every transformer takes all columns."""
    weights, branches, at = step.transformer_weights or {}, [], 0
    for name, inner in step.transformer_list:
        if inner == "drop":
            continue
        plan = StepPlan.smooth(AffineMap.columns(features)) if inner == "passthrough" else plan_of(inner, features)
        plan = _weighted(plan, weights.get(name))
        branches.append(Branch(range(features), range(at, at := at + plan.map.outputs), plan, lambda X: X))
    return StepPlan.side_by_side(features, at, branches)


@plan_of.register
def _(step: ColumnTransformer, features: int) -> StepPlan:
    """A block for each transformer, from its columns to its outputs."""
    weights, branches = step.transformer_weights or {}, []
    for name, inner, columns in step.transformers_:
        rows, outputs = step._transformer_to_input_indices[name], step.output_indices_[name]
        if inner == "drop" or outputs.start == outputs.stop:
            continue
        rows = [int(row) for row in rows]
        passed = inner == "passthrough"
        plan = StepPlan.smooth(AffineMap.columns(len(rows))) if passed else plan_of(inner, len(rows))
        select = _selection(rows[0] if isinstance(columns, str | int) else rows)
        branches.append(Branch(rows, range(outputs.start, outputs.stop), _weighted(plan, weights.get(name)), select))
    return StepPlan.side_by_side(features, max(part.stop for part in step.output_indices_.values()), branches)


def _selection(columns: int | list[int]) -> Run:
    """Some columns of a table, or one column as a vector if the host takes it so."""
    return lambda X: _safe_indexing(X, columns, axis=1)


def _weighted(plan: StepPlan, weight: float | None) -> StepPlan:
    if weight is None:
        return plan
    factors = torch.full((plan.map.outputs,), float(weight), dtype=torch.float64)
    scaled = SmoothMap.of(AffineMap.shifted(factors, 0 * factors))
    return StepPlan(plan.inputs, plan.raw, plan.encoded, plan.map.then(scaled))
