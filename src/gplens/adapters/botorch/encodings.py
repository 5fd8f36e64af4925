"""BoTorch's input transforms of categories and whole numbers: affine in the other columns (MATH 10)."""

import torch
from botorch.models.transforms.input import NumericToCategoricalEncoding, OneHotToNumeric, Round

from gplens.adapters.botorch.inputs import read_transform
from gplens.processes.transformed import AffineMap


@read_transform.register
def _(transform: OneHotToNumeric, features: int) -> AffineMap | None:
    """The position of the largest entry of each block. Paths switch a block at once."""
    if not transform.transform_on_eval or not transform.categorical_features:
        return AffineMap.columns(features)
    W = torch.zeros(features, transform.numeric_dim, dtype=torch.float64)
    W[transform.numerical_idx, transform.new_numerical_idx] = 1.0
    return AffineMap(W, transform.transform, tuple(tuple(block.tolist()) for block in transform.onehot_idx))


@read_transform.register
def _(transform: NumericToCategoricalEncoding, features: int) -> AffineMap | None:
    """A vector for each category, one-hot or of descriptors. Paths switch from one category to another at once."""
    if not transform.transform_on_eval:
        return AffineMap.columns(features)
    encoded = [column for block in transform.encoded_idx for column in block]
    W = torch.zeros(features, len(transform.numerical_idx) + len(encoded), dtype=torch.float64)
    W[transform.numerical_idx, transform.new_numerical_idx] = 1.0
    return AffineMap(W, transform.transform, tuple((column,) for column in transform.ordinal_idx))


@read_transform.register
def _(transform: Round, features: int) -> AffineMap | None:
    """Whole numbers are not rounded: paths go straight through the numbers between them.

    BoTorch optimises with the same straight-through gradient. At whole numbers rounding changes nothing, so that
    attributions still add up to the change of the prediction. One-hot blocks are switched at once.
    """
    if not transform.transform_on_eval:
        return AffineMap.columns(features)
    if transform.approximate:
        raise ValueError(
            "expected Round(approximate=False), which leaves whole numbers as they are, got approximate=True, a "
            "staircase of smooth steps; set approximate=False, and fit the model again."
        )
    blocks = tuple(tuple(range(start, start + count)) for start, count in transform.categorical_features.items())
    W = torch.eye(features, dtype=torch.float64)
    columns = [column for block in blocks for column in block]
    W[columns] = 0.0
    numbers = [k for k in range(features) if k not in columns]

    def apply(x: torch.Tensor) -> torch.Tensor:
        """The host's map of blocks, with numbers that are not rounded."""
        passed = transform.transform(x)
        passed[:, numbers] = x[:, numbers]
        return passed

    return AffineMap(W, apply, blocks, tuple(torch.as_tensor(transform.integer_indices).tolist()))
