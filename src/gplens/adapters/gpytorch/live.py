"""The predictions of the live torch module, and of a shadow of it, to compare with."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, final

import torch
from gpytorch import settings
from gpytorch.models import ApproximateGP
from jaxtyping import Float
from linear_operator.utils.warnings import NumericalWarning
from torch import Tensor

from gplens.adapters.gpytorch.live_prior import follows_from_prior
from gplens.adapters.gpytorch.snapshot import Snapshot, reference
from gplens.adapters.reading import compare_numbers
from gplens.lines.line import Line
from gplens.processes.process import Marginals, Process

DOUBLE = 1e-6
"""Largest difference to the host in float64, relative to the prior's scale. Observed: 1e-9 with K conditioned 1e10."""
SINGLE = 1e-2
"""The same to the host in float32, whose own solves lose that much with small noise."""
HINT = (
    "The model does something that its kernel, mean and inducing points do not tell (or is float32 and badly "
    "conditioned: call model.double() before it is fitted)."
)
PRIOR = "the host's tensors are those of an earlier comparison; its prior is the one that was read at {} points"
AT_ONCE = 2e5
"""Products of differences, b n^2 d, up to which GPyTorch evaluates the kernel of n inducing points and the points
compared in less time than it takes to keep track of a matrix that is evaluated later."""


@contextmanager
def exactly() -> Iterator[None]:
    """Predictions of GPyTorch by Cholesky, whatever their size: conjugate gradients have an error of their own."""
    with (
        torch.no_grad(),
        without_warnings_of_jitter(),
        settings.max_cholesky_size(10**9),
        settings.fast_pred_var(False),
        settings.skip_posterior_variances(False),
        settings.debug(False),
    ):
        yield


def without_warnings_of_jitter() -> warnings.catch_warnings:
    """For predictions at points that may coincide, where GPyTorch factorises in passing what is not used."""
    return warnings.catch_warnings(action="ignore", category=NumericalWarning)


@final
@dataclass(frozen=True, eq=False)
class Predicted:
    """The predictions of a host at points, in its own precision."""

    m: Float[Tensor, "k c"]
    v: Float[Tensor, "k c"]
    prior: Callable[[], Float[Tensor, ""]]
    """The largest prior variance k(x, x) at the points, evaluated if it is needed."""


def predict(module: Any, x: Float[Tensor, "k d"], *, at_once: bool = False) -> Predicted:
    """m and v of a module in evaluation mode, at points in its precision.

    `at_once` computes all matrices of a variational model as plain tensors, and factorises the covariance at the
    points, so that it may fail.
    """

    def prior() -> Tensor:
        with exactly():
            return module.forward(x).variance.max().double().cpu()

    with exactly(), settings.lazily_evaluate_kernels(not at_once), settings.trace_mode(at_once):
        f = module(x)
        m, v = (tensor if tensor.ndim == 2 else tensor[:, None] for tensor in (f.mean, f.variance))
        return Predicted(m.double().cpu(), v.double().cpu(), prior)


def _is_small(module: Any, snapshot: Snapshot) -> bool:
    """Whether GPyTorch is faster `at_once`. The predictions of an ExactGP may depend on how its kernel is evaluated."""
    if not isinstance(module, ApproximateGP):
        return False
    Z = [tensor for name, tensor in snapshot.tensors.items() if name.endswith("inducing_points")]
    return sum([z.numel() * z.shape[-2] for z in Z]) <= AT_ONCE  # (b, n, d) or (n, d)


def agree(at: Marginals, predicted: Predicted, dtype: torch.dtype) -> str:
    """Refuse a process whose m or v is not the host's, up to rounding at the scale of the prior; else say how close.

    `at` are the marginals of the process at the points of the prediction. Where data have brought v down to nothing,
    rounding is still of the prior's scale.
    """
    host_m, host_v, limit = predicted.m, predicted.v, DOUBLE if dtype == torch.float64 else SINGLE
    m, v = at.m[:, :, 0], at.v[:, :, 0]
    size = v.abs().max() + host_v.abs().max()
    if not (_within(m, host_m, limit * size.sqrt()) and _within(v, host_v, limit * size)):
        size = size + predicted.prior()
    worst_m = compare_numbers("mean", m, host_m, limit * (host_m.abs().max() + size.sqrt()), HINT)
    smallest = settings.min_variance.value(dtype) or 0.0  # what the host raises smaller variances to
    worst_v = compare_numbers("variance", v, host_v, limit * size + smallest, HINT)
    return f"m and v equal the host's in {dtype} to {worst_m:.1e} and {worst_v:.1e} at {len(m)} points"


def _within(ours: Tensor, host: Tensor, limit: Tensor) -> bool:
    return ours.shape == host.shape and bool((ours - host).abs().max() <= limit)


def compare_in_double(model: Any, replica: Any, process: Process, points: Float[Tensor, "k d"]) -> tuple[str, ...]:
    """Compare a process with the shadow that it was read from, where the live model has another precision."""
    if reference(model).dtype == torch.float64:
        return ()
    return (agree(process.along(Line.at(points)), predict(replica, points), torch.float64),)


def compare_live(
    model: Any, process: Process, snapshot: Snapshot, points: Float[Tensor, "k d"], at: Marginals
) -> tuple[str, ...]:
    """Compare a process with the live model: with what was read, and its marginals `at` points with the predictions.

    If a comparison of predictions was made before and no tensor has changed since, the prior at the points is compared.
    """
    with snapshot.predicting(model) as (reference_now, compared):
        x, dtype = points.to(reference_now), reference_now.dtype
        prior = snapshot.prior
        if compared and dtype == torch.float64 and prior and follows_from_prior(model) and prior.is_of(model, x):
            return (PRIOR.format(len(points)),)
        if prior is not None:  # points of a call may be so far from all data that every kernel predicts the same
            here = prior.support.between
            _agrees_at(here, process.along(Line.at(here)), model, process, here.to(reference_now))
        if _is_small(model, snapshot):
            with suppress(ValueError, RuntimeError):  # then lazily, as the host does by itself
                return (agree(at, predict(model, x, at_once=True), dtype),)
        return (_agrees_at(points, at, model, process, x),)


def _agrees_at(
    points: Float[Tensor, "k d"], at: Marginals, model: Any, process: Process, x: Float[Tensor, "k d"]
) -> str:
    """Compare at all points at once, or else one by one; x are the points as the model takes them."""
    try:
        return agree(at, predict(model, x), x.dtype)
    except ValueError:
        for point, near in zip(points.split(1), x.split(1), strict=True):  # beside points that are far away the
            agree(process.along(Line.at(point)), predict(model, near), x.dtype)  # host loses digits of the others
        return f"m and v equal the host's in {x.dtype} at each of {len(points)} points alone"
