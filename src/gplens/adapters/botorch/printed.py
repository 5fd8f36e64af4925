"""What BoTorch itself says at points: the Gaussian outcome, the noise of observations, the mean that it prints."""

import warnings
from typing import Any, NamedTuple

from botorch.posteriors import TransformedPosterior
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.check import DOUBLE, HINT, agree, exactly
from gplens.adapters.reading import compare
from gplens.expectations.expectation import Expectation
from gplens.lines.line import Line
from gplens.processes.process import Process

CONSTANT = 1e-8
"""Variation of the noise over the points, relative to the largest variance, that is rounding."""


class Printed(NamedTuple):
    """Of latent functions, before the nonlinear part of the outcome transform, and of outputs after it."""

    m: Float[Tensor, "k c"]
    v: Float[Tensor, "k c"]
    mean: Float[Tensor, "k o"]


def printed(model: Any, points: Float[Tensor, "k d"], *, noisy: bool = False) -> Printed:
    """From model.posterior(points), which a copy of the user's model is asked for."""
    with exactly():
        posterior = model.posterior(points, observation_noise=noisy)
        inner: Any = posterior
        while isinstance(inner, TransformedPosterior):
            inner = inner._posterior
        m, v = (_columns(tensor.double()) for tensor in (inner.mean, inner.variance))
        return Printed(m, v, _mean(posterior))


def read_noise(model: Any, points: Float[Tensor, "k d"]) -> tuple[float, ...] | None:
    """What observations add to each variance; None where that depends on the input, or is no Gaussian's."""
    if not isinstance(model.likelihood, _GaussianLikelihoodBase):
        return None
    v = printed(model, points).v
    extra = printed(model, points, noisy=True).v - v
    spread = extra.amax(0) - extra.amin(0)
    return tuple(extra.mean(0).tolist()) if bool((spread <= CONSTANT * (v + extra).amax(0)).all()) else None


def check_printed(
    model: Any,
    process: Process,
    response: Expectation,
    points: Float[Tensor, "k d"],
    limit: float,
    prior: Float[Tensor, ""],
) -> str:
    """Refuse a process, or a response, that is not the host's; else say how close they are."""
    dtype = next(model.parameters()).dtype
    host = printed(model, points.to(dtype))
    _check_mean(process, response, host.mean, points, limit)
    return agree(process, host.m, host.v, points, dtype, limit, prior)


def check_list(model: Any, process: Process, response: Expectation, points: Float[Tensor, "k d"]) -> None:
    """The mean of a list of models as a whole."""
    with exactly(), warnings.catch_warnings(action="ignore", category=UserWarning):  # that batch shapes differ
        mean = _mean(model.posterior(points))
    _check_mean(process, response, mean, points, DOUBLE)


def _check_mean(
    process: Process, response: Expectation, mean: Float[Tensor, "k o"], points: Float[Tensor, "k d"], limit: float
) -> None:
    """posterior(X).mean itself, in the units of the raw outcome."""
    ours = response.jet(process.along(Line.at(points)), tuple(range(mean.shape[1]))).value[:, :, 0]
    compare("posterior mean", ours, mean, limit * (1 + mean.abs().max()), HINT)


def _mean(posterior: Any) -> Float[Tensor, "k o"]:
    """posterior.mean, or its average over the draws of hyper-parameters, which is BoTorch's mixture_mean."""
    mean = posterior.mean.double()
    return mean if mean.ndim == 2 else mean.mean(0)


def _columns(tensor: Float[Tensor, "*s k o"]) -> Float[Tensor, "k c"]:
    """(k, c) as it is; draws (s, k, 1) as columns."""
    return tensor if tensor.ndim == 2 else tensor[..., 0].T
