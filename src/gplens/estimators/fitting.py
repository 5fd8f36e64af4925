"""The inputs and the result of a fit, and the fit by minibatches for `training=Training(...)`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, final

import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood, Likelihood
from jaxtyping import Float, Int
from torch import Tensor

from gplens.estimators.gp_models import Exact, Sparse, kernel_of, prior_mean, share_lengthscales
from gplens.estimators.parameters import Design
from gplens.estimators.scaling import Scaling, noise_in_table_units, sparse_in_table_units
from gplens.estimators.training.checkpoint import Checkpoint, fingerprint
from gplens.estimators.training.fit_sizes import FIXED, check_budget
from gplens.estimators.training.loop import Data, Loop
from gplens.estimators.training.options import Adam, NaturalGradients, Training
from gplens.estimators.training.q_of_u import Sites
from gplens.estimators.training.rows import HELD_OUT, PLACEMENTS, generator_of
from gplens.estimators.weights import Weights

JITTER = 1e-5
"""Added to K of the inducing points, relative to the prior's initial variance."""
QUIET = 1e-4
"""The smallest noise variance, for targets of variance one."""


@final
@dataclass(frozen=True)
class Problem:
    """The problem of a fit: targets in the units of training, a likelihood, and initial values."""

    y: Float[Tensor, " n"]
    likelihood: Likelihood
    sites: Callable[[Float[Tensor, " n"]], Sites]
    """Pseudo-observations for targets, which q(u) starts from."""
    latents: int | None = None
    """The number of latent functions, all of mean zero; None is one function with a learnt constant mean."""
    mean: float = 0.0
    """The initial mean of the latent function."""
    variance: float = 1.0
    """The initial variance of the latent functions."""
    concave: bool = True
    """Whether log p(y|f) is concave in f, which natural gradients need."""
    shift: float = 0.0
    """f in the units of the table is shift + scale * f in the units of training."""
    scale: float = 1.0
    weights: Weights = None
    """How often each row counts."""


@final
@dataclass(frozen=True)
class Fit:
    """A fitted model with its likelihood, and a summary of the training."""

    model: Exact | Sparse
    likelihood: Likelihood
    summary: dict[str, Any]


@final
@dataclass(frozen=True)
class Settings:
    """The options of one call of `fit`."""

    budget: float | None = None
    """Seconds after which the fit ends with the best parameters so far."""
    folder: str | Path | None = None
    """Where checkpoints are written."""
    show: bool = True
    """Whether a progress bar is shown."""

    @staticmethod
    def of(budget: Any, folder: str | Path | None, show: bool) -> "Settings":
        """The checked options of a call of `fit`."""
        return Settings(check_budget(budget), folder, show)


def gaussian_noise(initial: float | None = None) -> GaussianLikelihood:
    """A Gaussian likelihood for targets of variance one."""
    noise = GaussianLikelihood(noise_constraint=GreaterThan(QUIET)).double()
    return noise if initial is None else noise.initialize(noise=initial)


def fit_by_minibatches(
    design: Design,
    problem: Problem,
    X: Float[Tensor, "n d"],
    scaling: Scaling,
    settings: Settings,
) -> Fit:
    """Train a sparse model on the scaled rows of X by minibatches; the result is in the units of X."""
    began, rows, training = perf_counter(), scaling.apply(X), design.training or Training()
    dtype = torch.float32 if training.single else torch.float64
    model, likelihood = sparse_model(design, problem, rows).to(dtype), problem.likelihood.to(dtype)
    data, sites = _split(design, problem, rows.to(dtype))
    optimizer = optimizer_of(training, problem)
    loop = Loop(model, likelihood, data, training, optimizer, design.typical(rows))
    loop.start(Sites(sites.t.to(dtype), sites.w.to(dtype)))
    data_read = (rows, problem.y) if problem.weights is None else (rows, problem.y, problem.weights)
    folder = settings.folder
    checkpoint = None if folder is None else Checkpoint(Path(folder), fingerprint(repr(design), *data_read))
    deadline = None if settings.budget is None else began + settings.budget
    progress = loop.run(design.seed, checkpoint, settings.show, deadline)
    summary = {"inference": "sparse", "inducing_points": model.strategy.inducing_points.shape[-2], "seed": design.seed}
    summary |= {"optimizer": repr(optimizer), **progress}
    return fit_in_table_units(design, problem, model, likelihood, scaling, summary)


def optimizer_of(training: Training, problem: Problem) -> Adam | NaturalGradients:
    """The requested optimiser, or the one that suits the likelihood."""
    return training.optimizer or (NaturalGradients() if problem.concave else Adam())


def fit_in_table_units(
    design: Design, problem: Problem, model: Sparse, likelihood: Likelihood, scaling: Scaling, summary: dict[str, Any]
) -> Fit:
    """A model that was trained on scaled rows and targets, in the units of the table."""
    fitted = sparse_in_table_units(
        model.double(), design.kernel, scaling, latents=problem.latents, shift=problem.shift, scale=problem.scale
    )
    likelihood = likelihood.double()
    if isinstance(likelihood, GaussianLikelihood):
        likelihood = noise_in_table_units(likelihood, problem.scale)
    return Fit(fitted, likelihood, summary)


def sparse_model(design: Design, problem: Problem, X: Float[Tensor, "n d"]) -> Sparse:
    """A model of scaled rows before training, with inducing points among them."""
    Z = PLACEMENTS[design.inducing](X, design.inducing_points or FIXED, design.seed)
    kernels = None if design.shared or problem.latents is None else problem.latents
    kernel = _kernel(design, X, problem.variance, kernels)
    Z = Z if kernels is None else Z.expand(kernels, -1, -1).clone()
    mean = prior_mean(problem.latents, problem.mean)
    return Sparse(Z, kernel, mean, latents=problem.latents, jitter=JITTER * problem.variance)


def _kernel(design: Design, X: Float[Tensor, "n d"], variance: float, kernels: int | None) -> ScaleKernel:
    kernel = kernel_of(design.kernel, X.shape[1] if design.ard else None, kernels).double()
    base: Any = kernel.base_kernel
    base.lengthscale = design.typical(X)
    if design.ard:
        share_lengthscales(kernel, design.sharing)
    kernel.outputscale = torch.full_like(torch.as_tensor(kernel.outputscale), variance)
    return kernel


def held_out(design: Design, n: int) -> tuple[Int[Tensor, " h"], Int[Tensor, " k"]]:
    """The rows that a fit by minibatches holds out, and those that it learns from."""
    training = design.training or Training()
    stopping = training.stopping
    count = 0 if stopping is None or n <= training.batch else round(stopping.fraction * n)
    order = torch.randperm(n, generator=generator_of(design.seed, HELD_OUT)) if count else torch.arange(n)
    return order[:count], order[count:].sort().values


def _split(design: Design, problem: Problem, X: Float[Tensor, "n d"]) -> tuple[Data, Sites]:
    """Rows to train on and rows to hold out; none are held out where a step uses the whole table."""
    held, kept = held_out(design, len(X))
    y, sites = problem.y.to(X.dtype), problem.sites(problem.y[kept])
    if problem.weights is None:
        return Data(X[kept], y[kept], X[held], y[held]), sites
    w = problem.weights.to(X.dtype)
    return Data(X[kept], y[kept], X[held], y[held], w[kept], w[held]), replace(sites, w=sites.w * problem.weights[kept])
