"""BoTorch's input transforms: affine maps, smooth maps, and transforms that are refused."""

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
    Warp,
)
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import compare_numbers
from gplens.processes.transformed import AffineMap

SAME = 1e-9
"""The largest accepted relative difference of two float64 evaluations of an affine map."""
Smooth = Callable[[Float[Tensor, "k d"]], Float[Tensor, "k e"]]


class RoundedInputsError(ValueError):
    """Inputs between whole numbers, for a model that rounds them."""


def read_inputs(model: Any, points: Float[Tensor, "k d"]) -> AffineMap | None:
    """The affine map from raw inputs to those of the kernel, compared with the host's; None if it is not affine."""
    transform = getattr(model, "input_transform", None)
    if transform is None:
        return AffineMap.columns(points.shape[1])
    affine = read_transform(transform, points.shape[1])
    if affine is not None:
        host = model.transform_inputs(points)
        limit, hint = SAME * (1 + host.abs().max()), "A subclass may have changed the input transform."
        if affine.rounded and not bool(((affine(points) - host).abs() <= limit).all()):
            raise RoundedInputsError(
                f"expected whole numbers in columns {list(affine.rounded)}, which the {type(model).__name__} rounds, "
                "got others; give it whole numbers in X and in the baseline."
            )
        compare_numbers("transformed input", affine(points), host, limit, hint)
    return affine


def smooth_inputs(model: Any, index: int) -> Smooth:
    """The host's transform (that of draw `index` if each draw has one); an error where it is not defined."""

    def phi(X: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        x = model.transform_inputs(X)
        x = x if x.ndim == 2 else x[index if len(x) > 1 else 0]
        if not bool(x.isfinite().all()):
            row, column = (~x.isfinite()).nonzero()[0].tolist()
            raise ValueError(
                f"expected finite numbers from the model's input transform, got {float(x[row, column]):g} for "
                f"{float(X[row, column]):g} in feature {column}, on a path from a baseline to an input; choose inputs "
                "and a baseline between which the transform is defined: above zero for a logarithm."
            )
        return x

    return phi


@singledispatch
def read_transform(transform: InputTransform, features: int) -> AffineMap | None:
    """x' = x W + offset; None for a smooth transform that is not affine; an error for one without a derivative."""
    raise ValueError(
        "expected the input transforms Normalize, InputStandardize, FilterFeatures, Log10, Warp, Round, "
        "OneHotToNumeric, NumericToCategoricalEncoding, or chains of these, got "
        f"{type(transform).__name__}, which may have no derivative; transform the inputs before the model is fitted, "
        "and explain it in those."
    )


@read_transform.register
def _(transform: AffineInputTransform, features: int) -> AffineMap | None:
    if not transform.transform_on_eval:
        return AffineMap.columns(features)
    scale, offset = transform.coefficient, transform.offset
    if scale.ndim > 2 or offset.ndim > 2:
        raise ValueError(
            f"expected one {type(transform).__name__} for the model, got batch shape {tuple(transform.batch_shape)}; "
            "explain the models of a batch one by one."
        )
    columns = getattr(transform, "indices", None)
    columns = torch.arange(features) if columns is None else columns
    rate, shift = torch.ones(features, dtype=torch.float64), torch.zeros(features, dtype=torch.float64)
    rate[columns], shift[columns] = scale[0], offset[0]
    return AffineMap.shifted(rate, shift) if transform.reverse else AffineMap.scaled(rate, shift)


@read_transform.register
def _(transform: FilterFeatures, features: int) -> AffineMap | None:
    if not transform.transform_on_eval:
        return AffineMap.columns(features)
    return AffineMap.columns(features, torch.as_tensor(transform.feature_indices))


@read_transform.register
def _(transform: Log10 | Warp, features: int) -> AffineMap | None:
    return None if transform.transform_on_eval else AffineMap.columns(features)


@read_transform.register
def _(transform: ChainedInputTransform, features: int) -> AffineMap | None:
    total, maps = AffineMap.columns(features), []
    for link in transform.values():
        affine = read_transform(link, features)
        total = None if total is None or affine is None else total.then(affine)
        features = features if affine is None else affine.outputs
        maps.append(affine)
    if total is None and any(part is not None and (part.blocks or part.rounded) for part in maps):
        raise ValueError(
            "expected affine input transforms in a chain with Round, OneHotToNumeric or NumericToCategoricalEncoding, "
            "got one with Log10 or Warp; take the logarithm before the model is fitted."
        )
    return total


@read_transform.register
def _(transform: AppendFeatures | InputPerturbation, features: int) -> AffineMap | None:
    raise ValueError(
        f"expected an input transform from one input to one input, got {type(transform).__name__}, which makes several "
        "inputs, or more columns, of each; explain the model without it, in inputs that have the columns already."
    )
