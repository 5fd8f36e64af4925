"""GPyTorch: exact and variational models, their kernels, means and likelihoods."""

from collections.abc import Callable
from typing import Any, final

import torch
from gpytorch.likelihoods import Likelihood as HostLikelihood
from gpytorch.likelihoods import SoftmaxLikelihood
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from gpytorch.models import GP, ApproximateGP, ExactGP
from gpytorch.variational._variational_strategy import _VariationalStrategy
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.check import DOUBLE, SINGLE, check, prior_variance
from gplens.adapters.gpytorch.copies import frozen_copy
from gplens.adapters.gpytorch.exact import read_exact
from gplens.adapters.gpytorch.likelihoods import read_gaussian, read_one_dimensional, read_softmax
from gplens.adapters.gpytorch.memory import remembered
from gplens.adapters.gpytorch.variational import read_variational
from gplens.adapters.registry import Adapted, adapt, read_likelihood
from gplens.likelihood import Likelihood
from gplens.process import Process


@adapt.register
def _(model: ExactGP, points: Float[Tensor, "k d"]) -> Adapted:
    _check_features(_first_input(model), points)
    read = remembered(model, lambda: _read(model, read_exact, points))
    likelihood, name = read_likelihood(model.likelihood), type(model).__name__
    return Adapted(read.process, name, likelihood, notes=read.checked(points), conjugate=True)


@adapt.register
def _(model: ApproximateGP, points: Float[Tensor, "k d"]) -> Adapted:
    _check_features(_inducing_points(model), points)
    read = remembered(model, lambda: _read(model, read_variational, points))
    return Adapted(read.process, type(model).__name__, notes=read.checked(points))


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


def _keep_jitter(model: ApproximateGP, copy: ApproximateGP) -> None:
    """GPyTorch's jitter depends on the dtype; the copy in float64 keeps that of the model it was made from."""
    for original, own in zip(model.modules(), copy.modules(), strict=True):
        if isinstance(original, _VariationalStrategy) and "_jitter_val" in vars(original):
            vars(own)["_jitter_val"] = original.jitter_val


@final
class _Read:
    """A process, and the copies of the host's model that it is checked against."""

    def __init__(
        self, process: Process, notes: tuple[str, ...], double: Any, single: Any | None, prior: Tensor
    ) -> None:
        self.process, self.notes, self.prior = process, notes, prior
        self.hosts = [(double, DOUBLE)] if single is None else [(double, DOUBLE), (single, SINGLE)]
        self.checks: tuple[str, ...] = ()
        self.low, self.high = prior.new_full((2, process.features), torch.nan)

    def checked(self, points: Float[Tensor, "k d"]) -> tuple[str, ...]:
        """The notes, with what was found at the points, unless all lie among those that were checked before."""
        if not bool(((points >= self.low) & (points <= self.high)).all()):
            self.checks = tuple(check(self.process, host, points, limit, self.prior) for host, limit in self.hosts)
            self.low, self.high = torch.fmin(self.low, points.amin(0)), torch.fmax(self.high, points.amax(0))
        return (*self.notes, *self.checks)


def _read(model: Any, read: Callable[[Any, Tensor], tuple[Process, tuple[str, ...]]], points: Tensor) -> _Read:
    copy = frozen_copy(model, torch.float64)
    if isinstance(model, ApproximateGP):
        _keep_jitter(model, copy)
    process, notes = read(copy, points)
    same = next(model.parameters()).dtype == torch.float64
    return _Read(process, notes, copy, None if same else frozen_copy(model), prior_variance(copy, points))


def _first_input(model: ExactGP) -> Tensor | None:
    return None if model.train_inputs is None else model.train_inputs[0]


def _inducing_points(model: ApproximateGP) -> Tensor | None:
    strategy: Any = model.variational_strategy
    return getattr(getattr(strategy, "base_variational_strategy", strategy), "inducing_points", None)


def _check_features(Z: Tensor | None, points: Float[Tensor, "k d"]) -> None:
    if Z is not None and Z.shape[-1] != points.shape[1]:
        raise ValueError(f"X has {points.shape[1]} columns; the model was fitted on {Z.shape[-1]}.")
