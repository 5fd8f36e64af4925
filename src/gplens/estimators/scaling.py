"""Units: training uses scaled columns; the fitted model is written in the units of the table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from gpytorch.constraints import Positive
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood, GaussianLikelihood
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.estimators.gp_models import Exact, Sparse, kernel_of, prior_mean
from gplens.estimators.weights import Weights, deviation, mean

Sharing = tuple[tuple[int, ...], ...]
"""Inputs, in sets that share one scale and one lengthscale."""
NARROWEST = 1e-6
"""If spread / mean of a column is smaller, float64 has too few digits for the distances between rows."""


@final
@dataclass(frozen=True)
class Scaling:
    """x = shift + scale * z, column by column."""

    shift: Float[Tensor, " d"]
    scale: Float[Tensor, " d"]

    def apply(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
        """The scaled inputs z of inputs x."""
        return (X - self.shift) / self.scale

    def undo(self, Z: Float[Tensor, "*c n d"]) -> Float[Tensor, "*c n d"]:
        """The inputs x of scaled inputs z."""
        return self.shift + self.scale * Z


def columns(X: Float[Tensor, "n d"], sharing: Sharing, weights: Weights, names: Sequence[str]) -> Scaling:
    """Each column to mean zero and deviation one; a constant column is only centred.

    Inputs that share a scale, such as those of the categories of a column, have variances that add up to one.
    """
    shift, scale, constant = average(X, weights), deviation(X, weights), _constant(X)
    for members in map(list, sharing):
        if len(members) > 1:
            scale[members], constant[members] = scale[members].square().sum().sqrt(), constant[members].all()
    narrow = ~constant & (scale < NARROWEST * shift.abs())
    if bool(narrow.any()):
        k = int(narrow.nonzero()[0])
        raise ValueError(
            f"expected columns whose spread is at least {NARROWEST:g} of their mean, got {names[k]!r} with mean "
            f"{float(shift[k]):.6g} and spread {float(scale[k]):.2g}; subtract an offset from it, or leave it out."
        )
    return Scaling(shift, torch.where(constant, 1.0, scale))


def average(X: Float[Tensor, "n d"], weights: Weights = None) -> Float[Tensor, " d"]:
    """The mean row, without rounding where a column is constant."""
    return torch.where(_constant(X), X[0], mean(X, weights))


def _constant(X: Float[Tensor, "n d"]) -> Bool[Tensor, " d"]:
    return (X[0] == X).all(0)


def table(X: Float[Tensor, "n d"], sharing: Sharing, weights: Weights, names: Sequence[str]) -> Scaling:
    """All columns by one number, for columns that share a unit, such as pixels."""
    shift = average(X, weights)
    squares = (X - shift).square()
    scale = (squares if weights is None else mean(squares, weights)).mean().sqrt()
    return Scaling(shift, torch.where(scale > 0, scale, 1.0).expand_as(shift))


def none(X: Float[Tensor, "n d"], sharing: Sharing, weights: Weights, names: Sequence[str]) -> Scaling:
    """Columns as they are."""
    return Scaling(torch.zeros_like(X[0]), torch.ones_like(X[0]))


SCALINGS = {"columns": columns, "table": table, "none": none}


def scaling_of(name: Any, X: Float[Tensor, "n d"], sharing: Sharing, weights: Weights, names: Sequence[str]) -> Scaling:
    """The scaling of this name for inputs, sets of which share a scale; `names` are theirs, for errors."""
    if not isinstance(name, str) or name not in SCALINGS:
        raise ValueError(f"scaling must be one of {sorted(SCALINGS)}, got scaling={name!r}.")
    return SCALINGS[name](X, sharing, weights, names)


@torch.no_grad()
def sparse_in_table_units(
    model: Sparse, name: str, scaling: Scaling, *, latents: int | None, shift: float, scale: float
) -> Sparse:
    """The same function of unscaled inputs, with latent values shift + scale * f.

    Lengthscales take up the scale of the inputs, outputscale and jitter that of f. q(u) is whitened and stays.
    """
    Z = scaling.undo(model.strategy.inducing_points.detach())
    mean: Any = model.mean_module
    constant = shift + scale * float(mean.constant) if latents is None else 0.0
    kernel = _kernel_in_table_units(model.covar_module, name, scaling, scale)
    jitter = model.strategy.jitter_val * scale**2
    fitted = Sparse(Z, kernel, prior_mean(latents, constant), latents=latents, jitter=jitter).double()
    fitted.q.load_state_dict(model.q.state_dict())
    return fitted.eval().requires_grad_(False)


@torch.no_grad()
def exact_in_table_units(
    model: Exact,
    name: str,
    scaling: Scaling,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    weights: Weights,
    *,
    shift: float,
    scale: float,
) -> Exact:
    """The same for exact inference, with the unscaled table as training data."""
    trained: Any = model
    likelihood = weighted_noise(noise_in_table_units(trained.likelihood, scale), weights)
    mean = prior_mean(None, shift + scale * float(trained.mean_module.constant))
    kernel = _kernel_in_table_units(model.covar_module, name, scaling, scale)
    return Exact(X, y, likelihood, kernel, mean).double().eval().requires_grad_(False)


@torch.no_grad()
def noise_in_table_units(likelihood: Any, scale: float) -> GaussianLikelihood:
    """The same noise for targets that are larger by a factor `scale`."""
    fitted = GaussianLikelihood(noise_constraint=Positive()).double()
    fitted.noise = likelihood.noise * scale**2
    return fitted.eval().requires_grad_(False)


def weighted_noise(
    likelihood: GaussianLikelihood, weights: Weights
) -> GaussianLikelihood | FixedNoiseGaussianLikelihood:
    """The likelihood of training rows; the noise variance of a row is divided by the row's weight."""
    if weights is None:
        return likelihood
    return fixed_noise(torch.as_tensor(likelihood.noise) / weights).requires_grad_(False)


def fixed_noise(variances: Float[Tensor, " n"]) -> FixedNoiseGaussianLikelihood:
    """Noise of these variances, however small: GPyTorch would raise those below 1e-6, in whatever units targets are."""
    likelihood: Any = FixedNoiseGaussianLikelihood(torch.ones_like(variances)).double()
    likelihood.noise_covar.noise = variances
    return likelihood


def _kernel_in_table_units(trained: Any, name: str, scaling: Scaling, scale: float) -> ScaleKernel:
    batch = trained.batch_shape
    kernel = kernel_of(name, len(scaling.scale), batch[0] if len(batch) else None).double()
    if name == "rational_quadratic":
        kernel.base_kernel.alpha = trained.base_kernel.alpha
    base: Any = kernel.base_kernel
    base.lengthscale = trained.base_kernel.lengthscale * scaling.scale
    kernel.outputscale = trained.outputscale * scale**2
    return kernel
