"""From standardised columns to a fitted GPyTorch model in the user's own units."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch
from gpytorch.constraints import Positive
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood, Likelihood
from gpytorch.means import ConstantMean, Mean, ZeroMean
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.models import Exact, Sparse, kernel_of
from gplens.estimators.scaling import Scaling
from gplens.estimators.training.batches import PLACEMENT, generator_of
from gplens.estimators.training.checkpoint import Checkpoint, fingerprint
from gplens.estimators.training.exact import maximise_evidence
from gplens.estimators.training.inducing import PLACEMENTS, typical_distance
from gplens.estimators.training.loop import Data, Loop
from gplens.estimators.training.options import Adam, NaturalGradients, Training
from gplens.estimators.training.start import Sites

JITTER = 1e-5
"""On K of the inducing points, where the prior's variance starts at one."""


@final
@dataclass(frozen=True)
class Problem:
    """What an estimator asks for: targets in the units of training, and where the latent functions start."""

    y: Float[Tensor, " n"]
    likelihood: Likelihood
    sites: Callable[[Float[Tensor, " n"]], Sites]
    latents: int | None = None
    """None for one function; else that many, of mean zero."""
    mean: float = 0.0
    """Of the latent function, at the start."""
    variance: float = 1.0
    """Of the latent functions, at the start."""
    concave: bool = True
    """Whether log p(y|f) is concave in f, which natural gradients need."""


@final
@dataclass(frozen=True)
class Design:
    """The choices that estimators share, checked."""

    kernel: str
    ard: bool
    inducing_points: int
    inducing: str
    shared: bool
    training: Training
    seed: int

    def __post_init__(self) -> None:
        if self.inducing not in PLACEMENTS:
            raise ValueError(f"inducing={self.inducing!r}: wanted was one of {sorted(PLACEMENTS)}.")
        if self.inducing_points < 1:
            raise ValueError(f"inducing_points={self.inducing_points}: a number above zero was wanted.")

    def typical(self, X: Float[Tensor, "n d"]) -> float:
        """The distance of rows, at which lengthscales start."""
        return typical_distance(X, generator_of(self.seed, PLACEMENT))


def fit_sparse(
    design: Design, problem: Problem, X: Float[Tensor, "n d"], folder: str | Path | None, show: bool
) -> tuple[Sparse, Likelihood, dict[str, Any]]:
    """Standardised X in, a trained model of it out, with its summary."""
    dtype = torch.float32 if design.training.single else torch.float64
    model = _sparse(design, problem, X).to(dtype)
    likelihood = problem.likelihood.to(dtype)
    data, sites = _split(design, problem, X.to(dtype))
    optimizer = _optimizer(design.training, problem.concave)
    loop = Loop(model, likelihood, data, design.training, optimizer, design.typical(X))
    loop.start(Sites(sites.t.to(dtype), sites.w.to(dtype)))
    checkpoint = None if folder is None else Checkpoint(Path(folder), fingerprint(repr(design), X, problem.y))
    summary = loop.run(design.seed, checkpoint, show)
    how = {"inference": "sparse", "inducing_points": model.strategy.inducing_points.shape[-2], "seed": design.seed}
    return model.double(), likelihood.double(), {**how, "optimizer": repr(optimizer), **summary}


def fit_exact(
    design: Design, likelihood: GaussianLikelihood, X: Float[Tensor, "n d"], y: Float[Tensor, " n"]
) -> tuple[Exact, dict[str, Any]]:
    """The same for exact inference."""
    kernel = _kernel(design, X, 1.0, None)
    model = Exact(X, y, likelihood, kernel, ConstantMean()).double()
    summary = maximise_evidence(model, likelihood, X, y, design.typical(X))
    return model, {"inference": "exact", "seed": design.seed, **summary}


def _sparse(design: Design, problem: Problem, X: Float[Tensor, "n d"]) -> Sparse:
    Z = PLACEMENTS[design.inducing](X, design.inducing_points, generator_of(design.seed, PLACEMENT))
    own = None if design.shared or problem.latents is None else problem.latents
    kernel = _kernel(design, X, problem.variance, own)
    Z = Z if own is None else Z.expand(own, -1, -1).clone()
    mean = prior_mean(problem.latents, problem.mean)
    return Sparse(Z, kernel, mean, latents=problem.latents, jitter=JITTER * problem.variance)


def prior_mean(latents: int | None, constant: float) -> Mean:
    """Zero for several latent functions, a learnt constant for one."""
    if latents is not None:
        return ZeroMean()
    mean = ConstantMean().double()
    mean.initialize(constant=constant)
    return mean


def _kernel(design: Design, X: Float[Tensor, "n d"], variance: float, kernels: int | None) -> ScaleKernel:
    kernel = kernel_of(design.kernel, X.shape[1] if design.ard else None, kernels).double()
    base: Any = kernel.base_kernel
    base.lengthscale = design.typical(X)
    kernel.outputscale = torch.full_like(torch.as_tensor(kernel.outputscale), variance)
    return kernel


def _split(design: Design, problem: Problem, X: Float[Tensor, "n d"]) -> tuple[Data, Sites]:
    """Rows to train on and rows held out; none of them where a step sees the whole table."""
    stopping, n = design.training.stopping, len(X)
    held = 0 if stopping is None or n <= design.training.batch else round(stopping.fraction * n)
    order = torch.randperm(n, generator=generator_of(design.seed, PLACEMENT - 2)) if held else torch.arange(n)
    watched, own = order[:held], order[held:].sort().values
    y = problem.y.to(X.dtype)
    return Data(X[own], y[own], X[watched], y[watched]), problem.sites(problem.y[own])


def _optimizer(training: Training, concave: bool) -> Adam | NaturalGradients:
    return training.optimizer or (NaturalGradients() if concave else Adam())


@torch.no_grad()
def in_own_units(
    model: Sparse, name: str, scaling: Scaling, *, latents: int | None, shift: float = 0.0, scale: float = 1.0
) -> Sparse:
    """The same function of unstandardised inputs, and of a latent value f = shift + scale * standardised f.

    Lengthscales take up the scale of the inputs, outputscale and jitter that of f; whitened q(u) stays as it is.
    """
    Z = scaling.undo(model.strategy.inducing_points.detach())
    mean: Any = model.mean_module
    constant = shift + scale * float(mean.constant) if latents is None else 0.0
    kernel = _kernel_in_own_units(model.covar_module, name, scaling, scale)
    jitter = model.strategy.jitter_val * scale**2
    own = Sparse(Z, kernel, prior_mean(latents, constant), latents=latents, jitter=jitter).double()
    own.q.load_state_dict(model.q.state_dict())
    return own.eval().requires_grad_(False)


@torch.no_grad()
def exact_in_own_units(
    model: Exact,
    name: str,
    scaling: Scaling,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    *,
    shift: float,
    scale: float,
) -> Exact:
    """The same for exact inference, whose noise changes its units too."""
    trained: Any = model
    likelihood = GaussianLikelihood(noise_constraint=Positive()).double()
    likelihood.noise = trained.likelihood.noise * scale**2
    mean = prior_mean(None, shift + scale * float(trained.mean_module.constant))
    kernel = _kernel_in_own_units(model.covar_module, name, scaling, scale)
    own = Exact(X, y, likelihood, kernel, mean).double()
    return own.eval().requires_grad_(False)


def _kernel_in_own_units(trained: Any, name: str, scaling: Scaling, scale: float) -> ScaleKernel:
    batch = trained.batch_shape
    kernel = kernel_of(name, len(scaling.scale), batch[0] if len(batch) else None).double()
    if name == "rational_quadratic":
        kernel.base_kernel.alpha = trained.base_kernel.alpha
    base: Any = kernel.base_kernel
    base.lengthscale = trained.base_kernel.lengthscale * scaling.scale
    kernel.outputscale = trained.outputscale * scale**2
    return kernel
