"""BoTorch's input transforms: an affine map, a smooth one, or refused."""

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import torch
from botorch.models.transforms.input import (
    AffineInputTransform,
    AppendFeatures,
    ChainedInputTransform,
    FilterFeatures,
    InputPerturbation,
    InputTransform,
    Log10,
    Round,
    Warp,
)
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import compare
from gplens.processes.transformed import AffineMap

SAME = 1e-9
"""Relative difference of two float64 evaluations of one affine map."""
Smooth = Callable[[Float[Tensor, "k d"]], Float[Tensor, "k e"]]


def read_inputs(model: Any, points: Float[Tensor, "k d"]) -> AffineMap | None:
    """The map from raw inputs to those of the kernel, compared with the host's own; None where it is no affine one."""
    transform = getattr(model, "input_transform", None)
    if transform is None:
        return AffineMap.identity(points.shape[1])
    found = read_transform(transform, points.shape[1])
    if found is not None:
        host = model.transform_inputs(points)
        limit = SAME * (1 + host.abs().max())
        compare("transformed input", found(points), host, limit, "A subclass may have changed the input transform.")
    return found


def smooth_inputs(model: Any, index: int) -> Smooth:
    """The host's own transform, of draw `index` where each has its own; an error where it is not defined."""

    def phi(X: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        x = model.transform_inputs(X)
        x = x if x.ndim == 2 else x[index if len(x) > 1 else 0]
        if not bool(x.isfinite().all()):
            row, column = (~x.isfinite()).nonzero()[0].tolist()
            raise ValueError(
                f"The model's input transform makes {float(x[row, column]):g} of {float(X[row, column]):g} in feature "
                f"{column}, somewhere on a path from baseline to input. Choose inputs and a baseline between which it "
                "is defined: above zero for a logarithm."
            )
        return x

    return phi


@singledispatch
def read_transform(transform: InputTransform, features: int) -> AffineMap | None:
    """x' = x W + offset; None for a smooth transform that is no such map; an error for one without a derivative."""
    raise ValueError(
        f"The input transform {type(transform).__name__} is not known to have a derivative. Wanted were Normalize, "
        "InputStandardize, FilterFeatures, Log10, Warp, and chains of these. Transform the inputs before the model is "
        "fitted, and explain it in those."
    )


@read_transform.register
def _(transform: AffineInputTransform, features: int) -> AffineMap | None:
    if not transform.transform_on_eval:
        return AffineMap.identity(features)
    scale, offset = transform.coefficient, transform.offset
    if scale.ndim > 2 or offset.ndim > 2:
        raise ValueError(
            f"{type(transform).__name__} has batch shape {tuple(transform.batch_shape)}: one map for each model of a "
            "batch. Explain the models one by one."
        )
    columns = getattr(transform, "indices", None)
    own = torch.arange(features) if columns is None else columns
    rate, shift = torch.ones(features, dtype=torch.float64), torch.zeros(features, dtype=torch.float64)
    rate[own], shift[own] = scale[0], offset[0]
    return AffineMap(torch.diag(rate), shift) if transform.reverse else AffineMap(torch.diag(1 / rate), -shift / rate)


@read_transform.register
def _(transform: FilterFeatures, features: int) -> AffineMap | None:
    if not transform.transform_on_eval:
        return AffineMap.identity(features)
    W = torch.eye(features, dtype=torch.float64)[:, torch.as_tensor(transform.feature_indices)]
    return AffineMap(W, W.new_zeros(W.shape[1]))


@read_transform.register
def _(transform: Log10 | Warp, features: int) -> AffineMap | None:
    return None if transform.transform_on_eval else AffineMap.identity(features)


@read_transform.register
def _(transform: ChainedInputTransform, features: int) -> AffineMap | None:
    """AffineMap where all links of the chain are."""
    total = AffineMap.identity(features)
    for link in transform.values():
        own = read_transform(link, features)
        total = None if total is None or own is None else total.then(own)
        features = features if own is None else len(own.offset)
    return total


@read_transform.register
def _(transform: Round, features: int) -> AffineMap | None:
    raise ValueError(
        "The input transform Round makes the prediction a staircase, which has no derivative (BoTorch's own gradient "
        "of it is that of the unrounded input). Fit the model on inputs that are rounded already, without Round, and "
        "explain that one."
    )


@read_transform.register
def _(transform: AppendFeatures | InputPerturbation, features: int) -> AffineMap | None:
    raise ValueError(
        f"The input transform {type(transform).__name__} makes several inputs, or more columns, of each input. Explain "
        "the model without it, in inputs that have the columns already."
    )
