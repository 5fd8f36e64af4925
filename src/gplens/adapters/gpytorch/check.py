"""The host's own prediction, against which every extracted posterior is checked before it is used."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gpytorch
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.factor import without_warnings_of_jitter
from gplens.adapters.reading import compare
from gplens.lines.line import Line
from gplens.processes.process import Process

DOUBLE = 1e-6
"""Largest difference to the host in float64, relative to the prior's scale. Seen: 1e-9 with K conditioned 1e10."""
SINGLE = 1e-2
"""The same to the host in float32, whose own solves lose that much with small noise."""

HINT = (
    "The model does something that its kernel, mean and inducing points do not tell "
    "(or is float32 and badly conditioned: then model.double() helps)."
)


@contextmanager
def exactly() -> Iterator[None]:
    """The host's predictions by Cholesky, whatever their size: CG has an error of its own."""
    with (
        torch.no_grad(),
        without_warnings_of_jitter(),
        gpytorch.settings.max_cholesky_size(10**9),
        gpytorch.settings.fast_pred_var(False),
        gpytorch.settings.skip_posterior_variances(False),
        gpytorch.settings.debug(False),
    ):
        yield


def host_marginals(model: Any, points: Float[Tensor, "k d"]) -> tuple[Tensor, Tensor]:
    """m and v as the host predicts them, (k, c)."""
    with exactly():
        f = model(points)
        return (f.mean, f.variance) if f.mean.ndim == 2 else (f.mean[:, None], f.variance[:, None])


def check(process: Process, model: Any, points: Float[Tensor, "k d"], limit: float, prior: Tensor) -> str:
    """Refuse a process whose m or v is not the host's, beyond rounding at the prior's scale; else say how close."""
    dtype = next(model.parameters()).dtype
    host_m, host_v = (tensor.double() for tensor in host_marginals(model, points.to(dtype)))
    return agree(process, host_m, host_v, points, dtype, limit, prior)


def agree(
    process: Process,
    host_m: Float[Tensor, "k c"],
    host_v: Float[Tensor, "k c"],
    points: Float[Tensor, "k d"],
    dtype: torch.dtype,
    limit: float,
    prior: Tensor,
) -> str:
    """The same for a host's m and v, computed in `dtype`."""
    at = process.along(Line.at(points))
    m, v = at.m[:, :, 0], at.v[:, :, 0]
    size = v.abs().max() + host_v.abs().max() + prior
    worst_m = compare("mean", m, host_m, limit * (host_m.abs().max() + size.sqrt()), HINT)
    smallest = gpytorch.settings.min_variance.value(dtype) or 0.0  # what the host raises smaller variances to
    worst_v = compare("variance", v, host_v, limit * size + smallest, HINT)
    return f"m and v equal the host's in {dtype} to {worst_m:.1e} and {worst_v:.1e} at {len(points)} points"


def prior_variance(model: Any, points: Float[Tensor, "*s k d"]) -> Float[Tensor, ""]:
    """The largest k(x,x): where data have brought v down to nothing, rounding is still of this scale."""
    with torch.no_grad(), without_warnings_of_jitter():
        return model.forward(points).variance.max().double()
