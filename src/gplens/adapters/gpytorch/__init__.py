"""GPyTorch: exact and variational models, their kernels, means and likelihoods."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from gpytorch.likelihoods import Likelihood as HostLikelihood
from gpytorch.likelihoods import SoftmaxLikelihood
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from gpytorch.models import GP, ApproximateGP, ExactGP
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.check import DOUBLE, SINGLE, check, prior_variance
from gplens.adapters.gpytorch.copies import frozen_copy, keep_jitter
from gplens.adapters.gpytorch.exact import read_exact
from gplens.adapters.gpytorch.likelihoods import read_gaussian, read_one_dimensional, read_softmax
from gplens.adapters.gpytorch.memory import remembered
from gplens.adapters.gpytorch.reading import Reading
from gplens.adapters.gpytorch.variational import read_variational
from gplens.adapters.reading import Adapted, adapt, read_likelihood
from gplens.likelihood import Likelihood
from gplens.processes.process import Process


@adapt.register
def _(model: ExactGP, points: Float[Tensor, "k d"]) -> Adapted:
    _check_features(_first_input(model), points)
    read = remembered(model, lambda: _read(model, read_exact, points))
    return replace(read.at(points), likelihood=read_likelihood(model.likelihood), conjugate=True)


@adapt.register
def _(model: ApproximateGP, points: Float[Tensor, "k d"]) -> Adapted:
    _check_features(_inducing_points(model), points)
    read = remembered(model, lambda: _read(model, read_variational, points))
    return read.at(points)


@adapt.register
def _(model: GP, points: Float[Tensor, "k d"]) -> Adapted:
    name = type(model).__name__
    raise TypeError(f"gplens does not know how to read a {name}; wanted was an ExactGP or an ApproximateGP.")


@read_likelihood.register
def _(likelihood: _GaussianLikelihoodBase) -> Likelihood:
    return remembered(likelihood, lambda: read_gaussian(likelihood))


@read_likelihood.register
def _(likelihood: _OneDimensionalLikelihood) -> Likelihood:
    return remembered(likelihood, lambda: read_one_dimensional(likelihood))


@read_likelihood.register
def _(likelihood: SoftmaxLikelihood) -> Likelihood:
    return remembered(likelihood, lambda: read_softmax(likelihood))


@read_likelihood.register
def _(likelihood: HostLikelihood) -> Likelihood:
    raise TypeError(
        f"gplens cannot read {type(likelihood).__name__}: wanted was a Gaussian likelihood, or one of a single latent "
        "value (a subclass of _OneDimensionalLikelihood). A link can be given instead: likelihood=gplens.links.Exp()."
    )


def _read(model: Any, read: Callable[[Any, Tensor], tuple[Process, tuple[str, ...]]], points: Tensor) -> Reading:
    copy = frozen_copy(model, torch.float64)
    keep_jitter(model, copy)
    process, notes = read(copy, points)
    same = next(model.parameters()).dtype == torch.float64
    hosts = [(copy, DOUBLE)] if same else [(copy, DOUBLE), (frozen_copy(model), SINGLE)]
    prior = prior_variance(copy, points)

    def checks(points: Float[Tensor, "k d"]) -> tuple[str, ...]:
        return tuple(check(process, host, points, limit, prior) for host, limit in hosts)

    return Reading(Adapted(process, type(model).__name__, notes=notes), checks)


def _first_input(model: ExactGP) -> Tensor | None:
    return None if model.train_inputs is None else model.train_inputs[0]


def _inducing_points(model: ApproximateGP) -> Tensor | None:
    strategy: Any = model.variational_strategy
    return getattr(getattr(strategy, "base_variational_strategy", strategy), "inducing_points", None)


def _check_features(Z: Tensor | None, points: Float[Tensor, "k d"]) -> None:
    if Z is not None and Z.shape[-1] != points.shape[1]:
        raise ValueError(f"X has {points.shape[1]} columns; the model was fitted on {Z.shape[-1]}.")
