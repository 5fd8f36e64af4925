"""Models inside pipelines, searches and transformed targets, explained in the columns of the outermost object."""

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from sklearn.compose import TransformedTargetRegressor
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from torch import Tensor

from gplens.adapters.encoders import Encoder
from gplens.adapters.reading import Reading, read_encoder, read_host, read_model
from gplens.adapters.sklearn import affine_steps, encoding_steps, function_transformer, knots, smooth_steps
from gplens.adapters.sklearn.changes import noticing_changes
from gplens.adapters.sklearn.columns_of_steps import PipelineEncoder
from gplens.adapters.sklearn.compositions import after, leaves, sequence
from gplens.adapters.sklearn.plans import StepPlan, plan_of
from gplens.adapters.sklearn.predictions import check_fitted_columns, columns_of, compare, predict
from gplens.adapters.sklearn.transformed_targets import undone
from gplens.adapters.sklearn.wrappers import Unwrapped, unwrap
from gplens.processes.curved import Curved, defined_at
from gplens.processes.process import Marginals, Process
from gplens.processes.smooth_map import SmoothMap
from gplens.processes.transformed import Transformed

__all__ = ["affine_steps", "encoding_steps", "function_transformer", "knots", "smooth_steps"]

ARITHMETIC, ROUNDING = 1e-3, 1e-8
"""Accepted differences between two evaluations of a step, relative to its output and to the terms that cancel in it,
in units of the limit of `compare`, 1e-6."""


@read_model.register
def _(model: Pipeline | BaseSearchCV | TransformedTargetRegressor, points: Float[Tensor, "k d"] | None) -> Reading:
    """The model inside, in the inputs of the first step; `compare` evaluates every live step."""
    parts = unwrap(model)
    plan = plan_for(model, parts, points)
    if plan.complete:
        check_fitted_columns(model, points)
    inner = read_host(parts.last, None if points is None else defined_at(plan.map, points).values)
    if parts.steps and inner.encoder is not None:
        raise ValueError(
            f"expected a last step that takes the numbers of the steps before it, got {inner.model}, which encodes "
            "columns itself; fit it on the table without these steps."
        )
    likelihood, inverse, notes = inner.likelihood, None, inner.notes
    if parts.outcomes and likelihood is not None:
        likelihood, inverse = undone(likelihood, parts.outcomes, inner.process)
        notes = (*notes, outcome_note(inverse))

    def compare_live(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        if not parts.same_objects(unwrap(model)):
            raise ValueError(f"expected the steps that were read, got a {parts.names[0]} with other steps.")
        if plan.complete:
            _compare_steps(parts.steps, points)
        x = defined_at(plan.map, points).values
        if inverse is not None:
            _compare_outcomes(parts.outcomes, inverse, at.m[:, :, 0])
        return inner.compare(x, at)  # the marginals at x are those at points

    watched = [leaf for part in (*parts.steps, *parts.outcomes) for leaf in leaves(part)]
    return replace(
        inner,
        process=_through(inner.process, plan.map),
        model=" of ".join([*parts.names, inner.model]),
        likelihood=likelihood,
        notes=(*notes, PATH) if parts.steps and plan.complete else notes,
        columns=columns_of(model),
        encoder=read_encoder(model),
        compare=noticing_changes(compare_live, *watched),
    )


@read_encoder.register
def _(model: Pipeline | BaseSearchCV | TransformedTargetRegressor) -> Encoder | None:
    """The encoder of the steps; None if the columns of the table are themselves the coordinates."""
    parts = unwrap(model)
    plan = plan_for(model, parts)
    if not parts.steps:
        return read_encoder(parts.last)
    return None if plan.complete else PipelineEncoder(plan, after(list(parts.steps)), columns_of(model))


PATH = "the path is straight in the columns that the first step takes"


def plan_for(model: Any, parts: Unwrapped, points: Float[Tensor, "k d"] | None = None) -> StepPlan:
    """The plan of all steps, from the columns that the model was fitted on."""
    features = getattr(model, "n_features_in_", 0 if points is None else points.shape[1])
    plan = sequence(list(parts.steps), features)
    text_may_be_there = hasattr(model, "feature_names_in_")
    return plan if plan.encoded or text_may_be_there else plan.completed()


def outcome_note(inverse: SmoothMap) -> str:
    """The likelihood of the model, with the transforms of the target undone."""
    if inverse.affine is not None:
        return "the target is scaled back: the mean of the prediction, in the units of y"
    return "the target is the inverse transform of the predicted mean, as predict has it, not the mean of the inverse"


def _through(process: Process, phi: SmoothMap) -> Process:
    """The process in the inputs of a map: lines stay straight through an affine one."""
    return Curved(process, phi) if phi.affine is None else Transformed.through(process, phi.affine)


def _compare_steps(steps: tuple[Any, ...], points: Float[Tensor, "k d"]) -> None:
    """Compare every step as it was read with the output of the live step for the same numbers."""
    x = points
    for step in steps:
        (host,) = predict(step.transform, step, x)
        plan = plan_of(step, x.shape[1])
        ours = plan.map(x[:, list(plan.raw)])
        W = None if plan.map.affine is None else plan.map.affine.W
        size, cancelling = 1 + host.abs().max(), torch.zeros(())
        if W is not None:  # PCA subtracts after the product
            cancelling = (x[:, list(plan.raw)].abs() @ W.abs()).max()
        limit = torch.minimum(ARITHMETIC * size + ROUNDING * cancelling, size)
        compare(f"{type(step).__name__} output", ours, host, limit)
        x = ours


def _compare_outcomes(transformers: tuple[Any, ...], inverse: SmoothMap, m: Float[Tensor, "k c"]) -> None:
    host = m
    for transformer in reversed(transformers):
        (host,) = predict(transformer.inverse_transform, None, host)
    compare("prediction in the units of y", inverse(m), host.reshape(m.shape), ARITHMETIC * (1 + host.abs().max()))
