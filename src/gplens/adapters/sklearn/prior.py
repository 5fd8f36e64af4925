"""The prior of a fitted scikit-learn model: its kernel between points, and the white noise of one point with itself."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.sklearn.kernels import has_noise, number, translate
from gplens.adapters.sklearn.predictions import compare
from gplens.kernels import Autograd, Constant, Kernel

CONSTANT = 1e-10
"""Variation of the noise over all points, relative to the prior's variance, that counts as rounding."""


@final
@dataclass(frozen=True)
class Prior:
    """k, support points, and the white noise that k(x, x) has in addition to k(x, z)."""

    kernel: Kernel
    Z: Float[Tensor, "n d"]
    noise: float | None
    """The variance of the noise; None if it changes with x, as for a WhiteKernel times a nonstationary kernel."""
    size: Float[Tensor, ""]
    """The largest k(x, x), noise included."""
    notes: tuple[str, ...]


def read_prior(model: Any, points: Float[Tensor, "k d"] | None) -> Prior:
    """From kernel_ and X_train_, compared with the host's values at the points, or at the first rows of X_train_."""
    translated = translate(model.kernel_)
    kernel = Constant(number(0.0)) if translated is None else translated
    Z = torch.tensor(np.asarray(model.X_train_, np.float64))
    points = Z[:64] if points is None else points
    x = torch.cat([Z, points])
    total = torch.tensor(model.kernel_.diag(x.numpy()), dtype=torch.float64)
    pairs = torch.tensor(model.kernel_(points.numpy(), Z.numpy()), dtype=torch.float64)
    compare("kernel", kernel(points, Z), pairs, total.abs().max())
    return Prior(kernel, Z, _noise(model.kernel_, total - kernel.diagonal(x), total), total.max(), _notes(kernel))


def inverse(L: Any) -> Float[Tensor, "n n"]:
    """L^-1 of the host's Cholesky factor."""
    factor = torch.tensor(np.asarray(L, np.float64))
    return torch.linalg.solve_triangular(factor, torch.eye(len(factor), dtype=factor.dtype), upper=False)


def _noise(kernel: Any, extra: Float[Tensor, " k"], total: Float[Tensor, " k"]) -> float | None:
    if not has_noise(kernel):
        return 0.0
    return float(extra.mean()) if bool(extra.max() - extra.min() <= CONSTANT * total.abs().max()) else None


def _notes(kernel: Kernel) -> tuple[str, ...]:
    names = sorted({part.name for part in kernel.parts() if isinstance(part, Autograd)})
    return tuple(f"{name} goes through autograd: gplens has no formula for it" for name in names)
