"""PairwiseKernel: the metrics of sklearn.metrics.pairwise that have a derivative."""

from collections.abc import Callable
from typing import Any

import sklearn.gaussian_process.kernels as host
import torch
from torch import Tensor

from gplens import kernels

REFUSED = {
    "laplacian": "the absolute distance has a kink at every support point",
    "chi2": "it is defined for inputs of one sign alone and has no derivative where they are zero",
    "additive_chi2": "it is defined for inputs of one sign alone and has no derivative where they are zero",
}


def translate_pairwise(kernel: host.PairwiseKernel) -> kernels.Kernel:
    """By the name of its metric."""
    rule = METRICS.get(kernel.metric) if isinstance(kernel.metric, str) else None
    if rule is None:
        why = REFUSED.get(str(kernel.metric), "it is a function in numpy, without a derivative")
        raise ValueError(
            f"expected PairwiseKernel with a metric among {', '.join(METRICS)}, got metric={kernel.metric!r}: {why}; "
            "fit the model with one of these, or with a kernel such as RBF."
        )
    return rule(float(kernel.gamma), dict(kernel.pairwise_kernels_kwargs or {}))


def _linear(gamma: float, options: dict[str, Any]) -> kernels.Kernel:
    return kernels.Linear(_vector(1.0))


def _polynomial(gamma: float, options: dict[str, Any]) -> kernels.Kernel:
    offset, degree = _vector(options.get("coef0", 1))[0], options.get("degree", 3)
    if float(degree).is_integer() and degree >= 1:
        return kernels.Polynomial(_vector(gamma), offset, int(degree))
    return kernels.Power(kernels.Polynomial(_vector(gamma), offset, 1), float(degree))


def _rbf(gamma: float, options: dict[str, Any]) -> kernels.Kernel:
    return kernels.RBF(_vector((2 * gamma) ** -0.5))


def _sigmoid(gamma: float, options: dict[str, Any]) -> kernels.Kernel:
    offset = float(options.get("coef0", 1))
    return _by_autograd(lambda dot, x2, z2: torch.tanh(gamma * dot + offset), "the sigmoid metric")


def _cosine(gamma: float, options: dict[str, Any]) -> kernels.Kernel:
    return _by_autograd(lambda dot, x2, z2: dot / (x2 * z2).sqrt(), "the cosine metric")


def _by_autograd(function: Callable[[Tensor, Tensor, Tensor], Tensor], name: str) -> kernels.Kernel:
    """A function of x'z, x'x and z'z."""

    def pairs(X: Tensor, Z: Tensor) -> Tensor:
        return function(X @ Z.T, (X**2).sum(1)[:, None], (Z**2).sum(1))

    def variance(X: Tensor) -> Tensor:
        x2 = (X**2).sum(1)
        return function(x2, x2, x2)

    return kernels.Autograd(pairs, variance, name)


def _vector(value: float | int) -> Tensor:
    return torch.tensor([float(value)], dtype=torch.float64)


METRICS: dict[str, Callable[[float, dict[str, Any]], kernels.Kernel]] = {
    "linear": _linear,
    "poly": _polynomial,
    "polynomial": _polynomial,
    "rbf": _rbf,
    "sigmoid": _sigmoid,
    "cosine": _cosine,
}
