"""The prior of a GPyTorch model: its kernel and mean, or `forward` itself if it does more than that (MATH 1)."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import torch
from gpytorch.kernels import (
    GridInterpolationKernel,
    InducingPointKernel,
    Matern52KernelGrad,
    NewtonGirardAdditiveKernel,
    PolynomialKernelGrad,
    RBFKernelGrad,
    RBFKernelGradGrad,
)
from gpytorch.kernels import Kernel as HostKernel
from gpytorch.means import Mean as HostMean
from jaxtyping import Float
from linear_operator.utils.cholesky import psd_safe_cholesky
from linear_operator.utils.errors import NanError, NotPSDError
from linear_operator.utils.warnings import NumericalWarning
from torch import Tensor

from gplens.adapters.gpytorch.kernels import translate_kernel, translate_mean
from gplens.adapters.gpytorch.modules import without_warnings_of_jitter
from gplens.adapters.gpytorch.smoothness import check_differentiable, check_smooth
from gplens.kernels import Autograd, Kernel, Warped
from gplens.means import AutogradMean, ConstantMean, Mean

PARTS = ("covar_module", "mean_module")
AGREEMENT = 1e-8
"""Relative difference between two float64 evaluations of one prior; rounding leaves some 1e-13."""

Features = Callable[[Float[Tensor, "k d"]], Float[Tensor, "k e"]]
"""What a model computes from its inputs before its kernel or mean: deep kernel learning (MATH 1.11)."""
FEATURES = "covar_module is called with features of the inputs: their derivative goes through autograd"
EMBEDDING = "covar_module embeds its inputs: the derivative of the embedding goes through autograd"


@final
@dataclass(frozen=True)
class Prior:
    """k and mu of one latent function."""

    kernel: Kernel
    mean: Mean
    notes: tuple[str, ...]


def read_prior(model: Any, index: int, points: Float[Tensor, "k d"]) -> Prior:
    """k and mu of latent function `index`, translated to formulas if these agree with `forward` at the points.

    Raises:
        ValueError: if the kernel has no derivative, or is not a kernel of inputs alone.
    """
    kernel, mean = getattr(model, "covar_module", None), getattr(model, "mean_module", None)
    _check_supported(model)
    if not isinstance(kernel, HostKernel) or not isinstance(mean, HostMean):
        return _by_forward(model, index, points, "the model has no covar_module and mean_module")
    received = [_received_by(model, name, points) for name in PARTS]
    tables = [x for x in received if x is not None and x.ndim in (2, 3) and x.shape[-2] == len(points)]
    if len(tables) < len(PARTS):
        return _by_forward(model, index, points, "it does not call covar_module and mean_module with its inputs")
    features, features_of_mean = (pick(table, index, 2) for table in tables)
    translated = translate_kernel(kernel, index, features.shape[1])
    notes = _black_boxes(translated)
    if torch.equal(features, points):
        if translated.autograd:
            check_smooth(translated, points)
            notes = notes or (EMBEDDING,)
    else:
        phi = _features_for(model, "covar_module", index, points)
        if notes:
            return _by_forward(model, index, points, f"{', '.join(notes)}, and covar_module is called with features")
        translated, notes = Warped(translated, phi), (FEATURES,)
    mu = translate_mean(mean, index)
    if not isinstance(mu, ConstantMean) and not torch.equal(features_of_mean, points):
        mu = _mean_of(mu, _features_for(model, "mean_module", index, points))
    prior = Prior(translated, mu, notes)
    if not _agrees(prior, model, index, points):
        for name in PARTS:
            _check_attached(model, name, points)
        return _by_forward(model, index, points, "it differs from mean_module and covar_module at the points compared")
    return prior


def _mean_of(mean: Mean, phi: Features) -> Mean:
    """mu(phi(x))."""
    return AutogradMean(lambda X: mean(phi(X)))


def some_of(Z: Float[Tensor, "n d"]) -> Float[Tensor, "k d"]:
    """At most 64 support points, evenly spaced."""
    return Z[torch.linspace(0, len(Z) - 1, min(len(Z), 64)).long()]


def _check_supported(model: Any) -> None:
    for part in model.modules():
        if isinstance(part, InducingPointKernel):
            raise ValueError(
                "expected a kernel of the inputs alone, got InducingPointKernel (SGPR), which depends on the training "
                "data; fit an ApproximateGP with a VariationalStrategy instead."
            )
        if isinstance(part, GridInterpolationKernel):
            raise ValueError(
                "expected a kernel that predicts as it is, got GridInterpolationKernel (KISS-GP), whose predictions "
                "GPyTorch interpolates on a grid; fit with its base kernel, or an ApproximateGP instead."
            )
        if isinstance(part, NewtonGirardAdditiveKernel) and torch.get_default_dtype() != torch.float64:
            raise ValueError(
                "expected a kernel that is computed in float64, got NewtonGirardAdditiveKernel, which GPyTorch "
                f"computes in torch's default dtype, {torch.get_default_dtype()}, whatever the dtype of the model; "
                "call torch.set_default_dtype(torch.float64), or use an AdditiveStructureKernel."
            )
        if isinstance(part, RBFKernelGrad | Matern52KernelGrad | PolynomialKernelGrad | RBFKernelGradGrad):
            raise ValueError(
                f"expected a kernel of values, got {type(part).__name__}, which models derivatives as well; explain a "
                "model of the values alone."
            )


def _black_boxes(kernel: Kernel) -> tuple[str, ...]:
    names = sorted({part.name for part in kernel.parts() if isinstance(part, Autograd)})
    return tuple(f"{name} goes through autograd: gplens has no formula for it" for name in names)


def _agrees(prior: Prior, model: Any, index: int, points: Float[Tensor, "k d"]) -> bool:
    """Whether `forward` computes this prior at the points, evaluated all at once or else in pairs.

    The host computes distances relative to the mean of all points. If some points are far away, as a baseline of zeros
    is from dates, the distances between the other points are lost to rounding; those of a single pair are not.
    """
    mean, covariance = _forward(model, index, points)
    k, mu = prior.kernel(points, points), prior.mean(points)
    limit, limit_of_mean = AGREEMENT * k.diagonal().abs().max(), AGREEMENT * (1 + mu.abs().max())
    off = (covariance - k).abs()
    if not bool((mean - mu).abs().max() <= limit_of_mean) or not bool(off.isfinite().all()):
        return False
    for i in (off.amax(1) > limit).nonzero().flatten().tolist():
        pair = [i, int(off[i].argmax())]
        _, alone = _forward(model, index, points[pair])
        if not bool((alone - k[pair][:, pair]).abs().max() <= limit):
            return False
    return True


def _forward(model: Any, index: int, x: Float[Tensor, "k d"]) -> tuple[Tensor, Tensor]:
    """mu(x) and k(x, x) of the model's own forward."""
    with without_warnings_of_jitter():
        prior = model.forward(x)
        covariance = prior.covariance_matrix
    return pick(prior.mean, index, 1), pick(covariance, index, 2)


def pick(batch: Tensor, index: int, event: int) -> Tensor:
    """The part of a batch that belongs to latent function `index`: its last `event` axes."""
    return batch if batch.ndim == event else batch[index if len(batch) > 1 else 0]


def _by_forward(model: Any, index: int, points: Float[Tensor, "k d"], why: str) -> Prior:
    for part in model.modules():
        check_differentiable(part)

    def pairs(X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        joint = model.forward(torch.cat([X, Z])).lazy_covariance_matrix
        return pick(joint[..., : len(X), len(X) :].to_dense(), index, 2)

    def variance(X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return pick(model.forward(X).lazy_covariance_matrix.diagonal(dim1=-2, dim2=-1), index, 1)

    def mean(X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return pick(model.forward(X).mean, index, 1)

    kernel = Autograd(pairs, variance, f"{type(model).__name__}.forward")
    check_smooth(kernel, points)
    return Prior(kernel, AutogradMean(mean), (f"the prior goes through autograd of forward(): {why}",))


def cholesky(K: Float[Tensor, "n n"], what: str) -> tuple[Float[Tensor, "n n"], tuple[str, ...]]:
    """L with LL' = K, as the host computes it; if K is not positive definite the host adds jitter, which is noted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NumericalWarning)
        try:
            L = psd_safe_cholesky(K)
        except (NotPSDError, NanError) as cause:
            raise ArithmeticError(
                f"expected a positive definite {what}, got a matrix of {len(K)} points that is not, even with the "
                f"host's jitter ({cause}); remove duplicated points, or fit with more noise or jitter."
            ) from cause
    added = [warning.message for warning in caught if issubclass(warning.category, NumericalWarning)]
    return L, tuple(f"{what} was not positive definite; as the host does: {message}" for message in added)


def inverse(L: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """L^-1 of a lower triangular matrix."""
    return torch.linalg.solve_triangular(L, torch.eye(len(L), dtype=L.dtype), upper=False)


def _features_for(model: Any, name: str, index: int, points: Float[Tensor, "k d"]) -> Features:
    """phi, where `forward` calls the attribute `name` with phi(x) for the inputs x, by running it up to that call."""
    _check_attached(model, name, points)

    def phi(X: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        received = _received_by(model, name, X)
        assert received is not None
        return received if received.ndim == 2 else received[index if len(received) > 1 else 0]

    return phi


def _check_attached(model: Any, name: str, points: Float[Tensor, "k d"]) -> None:
    """Refuse a `forward` that detaches what it gives to the attribute `name` from the inputs."""
    with torch.enable_grad():
        received = _received_by(model, name, points.clone().requires_grad_())
    if received is not None and not received.requires_grad:
        raise ValueError(
            f"expected {name} to be called with features that autograd can differentiate, got some that "
            f"{type(model).__name__}.forward computes without gradients; remove torch.no_grad() and detach() there."
        )


@final
class _EarlyExitError(BaseException):
    """Ends `forward` where a part of the model is called with x; `except Exception` does not catch it."""


def _received_by(model: Any, name: str, X: Tensor) -> Tensor | None:
    """What `forward` of a model gives to its attribute `name` first, for the inputs X; None if it does not call it.

    This runs a copy of the model, whose attribute ends `forward` when it is called. The model is not changed.
    """

    def stop(part: Any, x: Tensor, *args: Any, **kwargs: Any) -> None:
        raise _EarlyExitError(x)

    part, kind, model_kind = getattr(model, name), type(getattr(model, name)), type(model)
    listening: Any = type(kind.__name__, (kind,), {"__call__": stop})
    substitute = object.__new__(listening)
    substitute.__dict__ = vars(part)
    listener: Any = object.__new__(model_kind)
    listener.__dict__ = {**vars(model), "_modules": {**model._modules, name: substitute}}
    try:
        listener.forward(X)
    except _EarlyExitError as received:
        return received.args[0]
    return None
