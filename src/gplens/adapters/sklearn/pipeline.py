"""Pipeline: the steps before the last one as an affine map of the raw inputs."""

from dataclasses import replace
from functools import reduce, singledispatch
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gplens.adapters.reading import Reading, read_host, read_model
from gplens.adapters.sklearn.predictions import check_fitted_columns, columns_of, compare, noticing_changes, predict
from gplens.processes.process import Marginals
from gplens.processes.transformed import AffineMap, Transformed

ARITHMETIC, ROUNDING = 1e-3, 1e-8
"""Differences between two evaluations of a step, relative to its output and to the terms that cancel in it, in units of
the limit of `compare`, 1e-6."""


@read_model.register
def _(model: Pipeline, points: Float[Tensor, "k d"] | None) -> Reading:
    """The last step, in the inputs of the first one; `compare` asks every live step."""
    check_fitted_columns(model, points)
    features = getattr(model, "n_features_in_", 0) if points is None else points.shape[1]
    steps, maps = _steps_of(model), [AffineMap.columns(features)]
    for step in steps[:-1]:
        check_is_fitted(step)
        maps.append(read_step(step, maps[-1].outputs))
    total = reduce(AffineMap.then, maps)
    inner = read_host(steps[-1], None if points is None else total(points))

    def compare_live(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        if [id(step) for step in _steps_of(model)] != [id(step) for step in steps]:
            raise ValueError("expected the steps that were read, got a Pipeline with other steps.")
        x = points
        for step, affine in zip(steps[:-1], maps[1:], strict=True):
            (host,) = predict(step.transform, step, x)
            size, cancelling = 1 + host.abs().max(), (x.abs() @ affine.W.abs()).max()  # PCA subtracts after the product
            x = affine(x)
            limit = torch.minimum(ARITHMETIC * size + ROUNDING * cancelling, size)
            compare(f"{type(step).__name__} output", x, host, limit)
        return inner.compare(x, at)  # the marginals at x are those at points

    process, name = Transformed.through(inner.process, total), f"Pipeline of {inner.model}"
    compare_all = noticing_changes(compare_live, *steps[:-1])
    return replace(inner, process=process, model=name, columns=columns_of(model), compare=compare_all)


def _steps_of(pipeline: Pipeline) -> list[Any]:
    """All steps that do something."""
    return [step for _, step in pipeline.steps if step is not None and not isinstance(step, str)]


@singledispatch
def read_step(step: Any, features: int) -> AffineMap:
    """x' = x W + offset of a fitted transformer; an error for one that is not affine."""
    raise ValueError(
        "expected affine steps (scalers without clipping, PCA, TruncatedSVD, column selections, and ColumnTransformers "
        f"of these), got {type(step).__name__}, which may bend a straight path; explain the last step in its own "
        "inputs: gplens.explain(pipeline[-1], pipeline[:-1].transform(X), baseline=pipeline[:-1].transform(x0))."
    )


@read_step.register
def _(step: StandardScaler, features: int) -> AffineMap:
    return _scaled(features, step.scale_ if step.with_std else None, step.mean_ if step.with_mean else None)


@read_step.register
def _(step: RobustScaler, features: int) -> AffineMap:
    return _scaled(features, step.scale_, step.center_)


@read_step.register
def _(step: MaxAbsScaler, features: int) -> AffineMap:
    _check_unclipped(step)
    return _scaled(features, step.scale_, None)


@read_step.register
def _(step: MinMaxScaler, features: int) -> AffineMap:
    _check_unclipped(step)
    return AffineMap.shifted(_tensor(step.scale_), _tensor(step.min_))


@read_step.register
def _(step: PCA | IncrementalPCA, features: int) -> AffineMap:
    W = _tensor(step.components_).T
    if step.whiten:
        W = W / _tensor(step.explained_variance_).sqrt().clamp(min=torch.finfo(W.dtype).eps)  # as the host does
    return AffineMap.linear(W, _tensor(step.mean_))


@read_step.register
def _(step: TruncatedSVD, features: int) -> AffineMap:
    return AffineMap.linear(_tensor(step.components_).T)


@read_step.register
def _(step: SelectorMixin, features: int) -> AffineMap:
    return AffineMap.columns(features, torch.as_tensor(step.get_support()))


@read_step.register
def _(step: FunctionTransformer, features: int) -> AffineMap:
    """The identity, which a ColumnTransformer has for "passthrough"; any other function is unknown."""
    return AffineMap.columns(features) if step.func is None else read_step.dispatch(object)(step, features)


@read_step.register
def _(step: ColumnTransformer, features: int) -> AffineMap:
    """A block for each transformer, from its columns to its outputs."""
    W = torch.zeros(features, max(columns.stop for columns in step.output_indices_.values()), dtype=torch.float64)
    blocks: list[tuple[Any, slice, AffineMap]] = []
    for name, inner, _ in step.transformers_:
        rows, columns = step._transformer_to_input_indices[name], step.output_indices_[name]
        if inner == "drop" or columns.start == columns.stop:
            continue
        block = AffineMap.columns(len(rows)) if inner == "passthrough" else read_step(inner, len(rows))
        W[rows, columns] = block.W
        blocks.append((rows, columns, block))

    def apply(x: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        transformed = x.new_zeros(len(x), W.shape[1])
        for rows, columns, block in blocks:
            transformed[:, columns] = block(x[:, rows])
        return transformed

    return AffineMap(W, apply)


@read_step.register
def _(step: Pipeline, features: int) -> AffineMap:
    total = AffineMap.columns(features)
    for _, inner in step.steps:
        total = total.then(read_step(inner, total.outputs))
    return total


def _scaled(features: int, scale: Any, centre: Any) -> AffineMap:
    """(x - centre) / scale, either of which may be left out."""
    divisor = torch.ones(features, dtype=torch.float64) if scale is None else _tensor(scale)
    return AffineMap.scaled(divisor, None if centre is None else _tensor(centre))


def _check_unclipped(step: Any) -> None:
    if getattr(step, "clip", False):
        raise ValueError(
            f"expected a scaler without clipping, got {type(step).__name__}(clip=True), which has a kink; fit the "
            "pipeline with clip=False, or explain the last step in its own inputs: gplens.explain(pipeline[-1], "
            "pipeline[:-1].transform(X), ...)."
        )


def _tensor(array: Any) -> Tensor:
    return torch.tensor(np.asarray(array, np.float64))
