"""The parameters found by L-BFGS as GPyTorch objects, in the units of training or of the table."""

from typing import Any

from gpytorch.constraints import Positive
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood

from gplens.estimators.fitting import Problem
from gplens.estimators.gp_models import Sparse, kernel_of, prior_mean
from gplens.estimators.parameters import Design
from gplens.estimators.scaling import Scaling, sparse_in_table_units
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.q_of_u import Natural
from gplens.estimators.training.sites import Solution


def kernel_object(design: Design, structure: Structure, at: Hyperparameters) -> ScaleKernel:
    """The kernel as GPyTorch's object."""
    kernels, every = len(at.log_outputscale), at.lengthscales(structure)[:, None]
    several = kernels > 1
    kernel = kernel_of(design.kernel, every.shape[-1] if design.ard else None, kernels if several else None).double()
    base: Any = kernel.base_kernel
    base.lengthscale = (
        (every if design.ard else every[..., :1]) if several else every[0, :, : None if design.ard else 1]
    )
    if at.log_alpha is not None:
        base.alpha = at.log_alpha.exp()[:, None] if several else at.log_alpha.exp()
    kernel.outputscale = at.log_outputscale.exp() if several else at.log_outputscale.exp()[0]
    return kernel


def sparse_object(design: Design, problem: Problem, structure: Structure, at: Hyperparameters) -> Sparse:
    """The sparse model as GPyTorch's object, without its q(u)."""
    assert at.Z is not None
    Z, mean = at.Z if len(at.Z) > 1 else at.Z[0], 0.0 if at.mean is None else float(at.mean)
    kernel = kernel_object(design, structure, at)
    return Sparse(
        Z, kernel, prior_mean(problem.latents, mean), latents=problem.latents, jitter=structure.jitter
    ).double()


def noise_object(at: Hyperparameters) -> GaussianLikelihood:
    """The noise as GPyTorch's object."""
    assert at.log_noise is not None
    likelihood = GaussianLikelihood(noise_constraint=Positive()).double()
    likelihood.noise = at.log_noise.exp()
    return likelihood


def solved_sparse(
    design: Design, problem: Problem, structure: Structure, at: Hyperparameters, q: Solution, scaling: Scaling
) -> Sparse:
    """The sparse model with its optimal q(u), in the units of the table."""
    model = sparse_object(design, problem, structure, at)
    Natural(q.h, q.P).write(model)
    return sparse_in_table_units(
        model, design.kernel, scaling, latents=problem.latents, shift=problem.shift, scale=problem.scale
    )
