"""The steps before the last of a Pipeline, as one affine map of the raw inputs."""

from functools import singledispatch
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

from gplens.adapters.sklearn.printed import check, check_features, printed
from gplens.processes.transformed import AffineMap


def read_steps(pipeline: Pipeline, points: Float[Tensor, "k d"]) -> AffineMap:
    """All steps but the last, each compared with its own transform."""
    check_features(pipeline, points)
    total, x = AffineMap.identity(points.shape[1]), points
    for _, step in pipeline.steps[:-1]:
        if step is None or step == "passthrough":
            continue
        check_is_fitted(step)
        own = read_step(step, x.shape[1])
        (host,) = printed(step.transform, step, x)
        total, x = total.then(own), own(x)
        check(f"output of {type(step).__name__}", x, host, 1e-3 * (1 + host.abs().max()))  # 1e-9: the same arithmetic
    return total


@singledispatch
def read_step(step: Any, features: int) -> AffineMap:
    """x' = x W + offset of a fitted transformer; an error for one that is not affine."""
    raise ValueError(
        f"The step {type(step).__name__} is not known to be affine: a straight path in the raw inputs would become a "
        "curve in those of the model. Wanted were scalers without clipping, PCA, TruncatedSVD, column selections, and "
        "ColumnTransformers of these. Explain the last step in its own inputs: gplens.explain(pipeline[-1], "
        "pipeline[:-1].transform(X), baseline=pipeline[:-1].transform(x0))."
    )


@read_step.register
def _(step: StandardScaler, features: int) -> AffineMap:
    return _scaled(features, step.mean_ if step.with_mean else None, step.scale_)


@read_step.register
def _(step: RobustScaler, features: int) -> AffineMap:
    return _scaled(features, step.center_, step.scale_)


@read_step.register
def _(step: MaxAbsScaler, features: int) -> AffineMap:
    _check_unclipped(step)
    return _scaled(features, None, step.scale_)


@read_step.register
def _(step: MinMaxScaler, features: int) -> AffineMap:
    _check_unclipped(step)
    return AffineMap(torch.diag(_tensor(step.scale_)), _tensor(step.min_))


@read_step.register
def _(step: PCA | IncrementalPCA, features: int) -> AffineMap:
    W = _tensor(step.components_).T
    if step.whiten:
        W = W / _tensor(step.explained_variance_).sqrt()
    return AffineMap(W, -_tensor(step.mean_) @ W)


@read_step.register
def _(step: TruncatedSVD, features: int) -> AffineMap:
    W = _tensor(step.components_).T
    return AffineMap(W, W.new_zeros(W.shape[1]))


@read_step.register
def _(step: SelectorMixin, features: int) -> AffineMap:
    W = torch.eye(features, dtype=torch.float64)[:, torch.as_tensor(step.get_support())]
    return AffineMap(W, W.new_zeros(W.shape[1]))


@read_step.register
def _(step: FunctionTransformer, features: int) -> AffineMap:
    """The identity, which is what a ColumnTransformer makes of "passthrough"; any other function is unknown."""
    return AffineMap.identity(features) if step.func is None else read_step.dispatch(object)(step, features)


@read_step.register
def _(step: ColumnTransformer, features: int) -> AffineMap:
    """Each transformer from its own columns to its own outputs."""
    outputs = max(own.stop for own in step.output_indices_.values())
    W, offset = torch.zeros(features, outputs, dtype=torch.float64), torch.zeros(outputs, dtype=torch.float64)
    for name, inner, _ in step.transformers_:
        rows, columns = step._transformer_to_input_indices[name], step.output_indices_[name]
        if inner == "drop" or columns.start == columns.stop:
            continue
        own = AffineMap.identity(len(rows)) if inner == "passthrough" else read_step(inner, len(rows))
        W[rows, columns], offset[columns] = own
    return AffineMap(W, offset)


@read_step.register
def _(step: Pipeline, features: int) -> AffineMap:
    total = AffineMap.identity(features)
    for _, inner in step.steps:
        total = total.then(read_step(inner, total.W.shape[1]))
    return total


def _scaled(features: int, centre: Any, scale: Any) -> AffineMap:
    """(x - centre) / scale, either of which may be left out."""
    rate = 1 / (torch.ones(features, dtype=torch.float64) if scale is None else _tensor(scale))
    return AffineMap(torch.diag(rate), 0 * rate if centre is None else -_tensor(centre) * rate)


def _check_unclipped(step: Any) -> None:
    if getattr(step, "clip", False):
        raise ValueError(
            f"{type(step).__name__}(clip=True) has a kink where it clips. Fit the pipeline with clip=False, or explain "
            "the last step in its own inputs: gplens.explain(pipeline[-1], pipeline[:-1].transform(X), ...)."
        )


def _tensor(array: Any) -> Tensor:
    return torch.tensor(np.asarray(array, np.float64))
