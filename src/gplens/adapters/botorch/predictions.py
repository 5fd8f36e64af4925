"""BoTorch's posterior at points: the Gaussian outcome, the noise of observations, and the mean in raw units."""

import warnings
from typing import Any, NamedTuple

import torch
from botorch.models.approximate_gp import ApproximateGPyTorchModel
from botorch.models.gp_regression import SingleTaskGP
from botorch.posteriors import TransformedPosterior
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.live import DOUBLE, HINT, PRIOR, SINGLE, Predicted, Snapshot, agree
from gplens.adapters.gpytorch.modules import exactly, reference, undisturbed
from gplens.adapters.reading import compare_numbers
from gplens.expectations.expectation import Expectation
from gplens.lines.line import Line
from gplens.processes.process import Marginals, Process

OF_POSTERIORS = frozenset({"posterior", "transform_inputs", "_apply_noise", "__call__", "eval"})
"""Methods of which a posterior is made, beside `forward` and what the parts of the model compute."""
CONSTANT = 1e-8
"""Variation of the noise over the points, relative to the largest variance, that counts as rounding."""


class PosteriorAt(NamedTuple):
    """Posteriors of latent functions, before the nonlinear part of the outcome transform, and of outputs after it."""

    m: Float[Tensor, "k c"]
    v: Float[Tensor, "k c"]
    mean: Float[Tensor, "k o"]


def predict(model: Any, points: Float[Tensor, "k d"], *, noisy: bool = False) -> PosteriorAt:
    """model.posterior(points) of a model in evaluation mode, in the precision of the model."""
    with exactly():
        posterior = model.posterior(points.to(reference(model)), observation_noise=noisy)
        inner: Any = posterior
        while isinstance(inner, TransformedPosterior):
            inner = inner._posterior
        m, v = (_columns(tensor.double().cpu()) for tensor in (inner.mean, inner.variance))
        return PosteriorAt(m, v, _mean(posterior))


def read_noise(model: Any, points: Float[Tensor, "k d"]) -> tuple[float, ...] | None:
    """The variance that observations add to each latent function; None if it depends on the input."""
    if not isinstance(model.likelihood, _GaussianLikelihoodBase):
        return None
    v = predict(model, points).v
    extra = predict(model, points, noisy=True).v - v
    spread = extra.amax(0) - extra.amin(0)
    return tuple(extra.mean(0).tolist()) if bool((spread <= CONSTANT * (v + extra).amax(0)).all()) else None


def compare_with(model: Any, response: Expectation, scale: Tensor, points: Float[Tensor, "k d"], at: Marginals) -> str:
    """Refuse a process or response that differs from the model in evaluation mode; else say how close they are."""
    predicted, dtype = predict(model, points), reference(model).dtype
    _compare_mean(at, response, predicted.mean, dtype)
    gp = model.model if isinstance(model, ApproximateGPyTorchModel) else model

    def prior() -> Float[Tensor, ""]:
        with exactly():
            x = model.transform_inputs(points.to(reference(model)))
            return gp.forward(x).variance.max().double().cpu() * scale.max() ** 2

    return agree(at, Predicted(predicted.m, predicted.v, prior), dtype)


def compare_live(
    model: Any,
    process: Process,
    response: Expectation,
    scale: Tensor,
    snapshot: Snapshot,
    beside: Float[Tensor, "h d"],
    points: Float[Tensor, "k d"],
    at: Marginals,
) -> tuple[str, ...]:
    """Compare with the live model: what was read with what it has now, and its posterior with the process.

    The posterior is also compared `beside` training inputs, since points of a call may be far from all of them. If a
    comparison of posteriors was made before and no tensor has changed since, the prior at the points is compared.
    """

    def compare(points: Float[Tensor, "k d"], at: Marginals) -> str:
        try:
            return compare_with(model, response, scale, points, at)
        except ValueError:
            for x in points.split(1):  # if some points are far away, the host loses digits of the others
                compare_with(model, response, scale, x, process.along(Line.at(x)))
            return f"m and v equal the host's at each of {len(points)} points alone"

    with snapshot.predicting(model) as (reference_now, compared):
        if compared and reference_now.dtype == torch.float64 and snapshot.prior and _follows_from_prior(model):
            with torch.no_grad():
                if snapshot.prior.is_of(model, points.to(reference_now), at):
                    return (PRIOR.format(len(points)),)
        if len(beside):
            compare(beside, process.along(Line.at(beside)))
        return (compare(points, at),)


def _follows_from_prior(model: Any) -> bool:
    """Whether the posterior of a model of one output is BoTorch's own, of the prior that `forward` computes."""
    if not isinstance(model, SingleTaskGP) or model._is_fully_bayesian or model.num_outputs > 1:
        return False
    inherited = [getattr(type(model), name) is getattr(SingleTaskGP, name) for name in OF_POSTERIORS]
    return all(inherited) and OF_POSTERIORS.isdisjoint(vars(model))


def compare_list(model: Any, response: Expectation, points: Float[Tensor, "k d"], at: Marginals) -> None:
    """Compare the mean of a live list of models as a whole."""
    x = points.to(reference(model))
    with undisturbed(model), exactly(), warnings.catch_warnings(action="ignore", category=UserWarning):
        mean = _mean(model.posterior(x))  # which warns that batch shapes differ
    _compare_mean(at, response, mean, x.dtype)


def _compare_mean(at: Marginals, response: Expectation, mean: Float[Tensor, "k o"], dtype: torch.dtype) -> None:
    """Compare posterior(X).mean itself, which is in the units of the raw outcome."""
    limit = DOUBLE if dtype == torch.float64 else SINGLE
    ours = response.jet(at, tuple(range(mean.shape[1]))).value[:, :, 0]
    compare_numbers("posterior mean", ours, mean, limit * (1 + mean.abs().max()), HINT)


def _mean(posterior: Any) -> Float[Tensor, "k o"]:
    """posterior.mean, or its average over the draws of hyper-parameters, which is BoTorch's mixture_mean."""
    mean = posterior.mean.double().cpu()
    return mean if mean.ndim == 2 else mean.mean(0)


def _columns(tensor: Float[Tensor, "*s k o"]) -> Float[Tensor, "k c"]:
    """(k, c) as it is; draws (s, k, 1) as columns."""
    return tensor if tensor.ndim == 2 else tensor[..., 0].T
