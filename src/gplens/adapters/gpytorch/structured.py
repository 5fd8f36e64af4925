"""GPyTorch's kernels that consist of one kernel for each column, and piecewise polynomials."""

from dataclasses import fields, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gplens import kernels

PER_FEATURE = ("lengthscale", "period", "variance")
"""Parameters of simple kernels that may have an entry for each feature."""
SIMPLE = (
    kernels.RBF,
    kernels.Matern32,
    kernels.Matern52,
    kernels.RationalQuadratic,
    kernels.PiecewisePolynomial,
    kernels.Cosine,
    kernels.Periodic,
    kernels.Linear,
    kernels.Polynomial,
    kernels.Constant,
)


def by_column(kernel: kernels.Kernel, features: int) -> tuple[kernels.Kernel, ...] | None:
    """The kernels of single columns that GPyTorch computes with last_dim_is_batch; None if they are not known."""
    if isinstance(kernel, kernels.ActiveDimensions):
        inner, dims = kernel.kernel, kernel.dims
    else:
        inner, dims = kernel, torch.arange(features)
    columns = [_column(inner, i) for i in range(len(dims))]
    if any(column is None for column in columns):
        return None
    pairs = zip(columns, dims, strict=True)
    return tuple(kernels.ActiveDimensions(column, dim[None]) for column, dim in pairs if column is not None)


def _column(kernel: Any, i: int) -> kernels.Kernel | None:
    """The same kernel, of column i alone."""
    if isinstance(kernel, kernels.Scale):
        inner = _column(kernel.kernel, i)
        return None if inner is None else replace(kernel, kernel=inner)
    if isinstance(kernel, kernels.Sum | kernels.Product):
        parts = tuple(part for part in (_column(inner, i) for inner in kernel.kernels) if part is not None)
        return replace(kernel, kernels=parts) if len(parts) == len(kernel.kernels) else None
    if not isinstance(kernel, SIMPLE):
        return None
    names = [field.name for field in fields(kernel) if field.name in PER_FEATURE]
    vectors = {name: getattr(kernel, name) for name in names if getattr(kernel, name).ndim == 1}
    return replace(kernel, **{name: vector[[i]] for name, vector in vectors.items()})


def piecewise_polynomial(lengthscale: Float[Tensor, " d"], q: int) -> kernels.PiecewisePolynomial:
    """(1-r)_+^(j+q) P(r) with j = floor(d/2) + q + 1, and the P of GPyTorch.

    Its coefficient of r^2 for q = 2 is (5j + 3) / 3, where (4.21) of Rasmussen and Williams (2006) has
    (j^2 + 4j + 3) / 3. A version of GPyTorch with the latter would be noticed, and be evaluated through autograd.
    """
    j = len(lengthscale) // 2 + q + 1
    higher = {
        1: [],
        2: [(5 * j + 3) / 3],
        3: [(6 * j**2 + 36 * j + 45) / 15, (j**3 + 9 * j**2 + 23 * j + 15) / 15],
    }[q]
    return kernels.PiecewisePolynomial(lengthscale, j + q, torch.tensor(higher, dtype=lengthscale.dtype))
