"""EVERY_MODEL: the examples of BoTorch's own documentation, fitted, with its input and outcome transforms."""

import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from botorch.fit import fit_fully_bayesian_model_nuts, fit_gpytorch_mll
from botorch.models import MixedSingleTaskGP, ModelListGP, MultiTaskGP, SingleTaskGP, SingleTaskVariationalGP
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
from botorch.models.fully_bayesian_multitask import SaasFullyBayesianMultiTaskGP
from botorch.models.map_saas import AdditiveMapSaasSingleTaskGP
from botorch.models.transforms import ChainedOutcomeTransform, Log, Standardize
from botorch.models.transforms.input import (
    ChainedInputTransform,
    FilterFeatures,
    InputStandardize,
    Log10,
    Normalize,
    Warp,
)
from botorch.test_functions import Branin, BraninCurrin, Hartmann
from gpytorch.kernels import MaternKernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood, VariationalELBO
from gpytorch.priors import LogNormalPrior
from torch import Tensor

from conformance.hosts import Array, Fitted, HostCase

STEPS = {"options": {"maxiter": 25}}
"""Of the optimiser: fitted, if not to the last digit."""


def uniform(bounds: Tensor, count: int, seed: int = 0) -> Tensor:
    unit = torch.rand(count, bounds.shape[1], generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return bounds[0] + unit * (bounds[1] - bounds[0])


def fit(model: Any) -> Any:
    """As the documentation does it: fit_gpytorch_mll."""
    kind = SumMarginalLogLikelihood if isinstance(model, ModelListGP) else ExactMarginalLogLikelihood
    fit_gpytorch_mll(kind(model.likelihood, model), optimizer_kwargs=STEPS)
    return model


BRANIN, HARTMANN = Branin(negate=True).bounds.double(), Hartmann(dim=3).bounds.double()


@cache
def branin() -> tuple[Tensor, Tensor]:
    X = uniform(BRANIN, 16)
    return X, Branin(negate=True)(X)[:, None]


@cache
def hartmann() -> tuple[Tensor, Tensor]:
    X = uniform(HARTMANN, 18, 1)
    return X, Hartmann(dim=3)(X)[:, None]


def single_task() -> Any:
    """Getting started: inferred noise, inputs normalised to the unit cube, outcomes standardised."""
    X, Y = branin()
    return fit(SingleTaskGP(X, Y, input_transform=Normalize(d=2, bounds=BRANIN)))


def bare() -> Any:
    """No transform at all, and a scaled Matern kernel."""
    X, Y = hartmann()
    kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=3))
    return fit(SingleTaskGP(X, Y, covar_module=kernel, outcome_transform=None))


def fixed_noise() -> Any:
    """Observation noise that was measured, another one for each point."""
    X, Y = hartmann()
    noise = 0.01 * (1 + X[:, :1])
    return fit(SingleTaskGP(X, Y, noise, input_transform=InputStandardize(d=3)))


def several_outputs() -> Any:
    X = uniform(BraninCurrin().bounds.double(), 12, 2)
    return fit(SingleTaskGP(X, BraninCurrin(negate=True)(X), input_transform=Normalize(d=2)))


def model_list() -> Any:
    """Outputs with data, transforms and kernels of their own; the second fitted by its logarithm."""
    (X, Y), (X2, Y2) = branin(), (branin()[0][:12], branin()[1][:12])
    first = SingleTaskGP(X, Y, input_transform=Normalize(d=2))
    second = SingleTaskGP(X2, 1 - Y2, outcome_transform=Log(), input_transform=Normalize(d=2))
    return fit(ModelListGP(first, second))


def logarithms() -> Any:
    """A logarithm of the inputs and of the outcome, each followed by a scale."""
    X = uniform(torch.tensor([[0.1, 0.0], [100.0, 5.0]]).double(), 14, 3)
    Y = (X[:, :1].log10().sin() + 0.3 * X[:, 1:]).exp() + 0.2
    inputs = ChainedInputTransform(log=Log10(indices=[0]), scale=Normalize(d=2))
    return fit(
        SingleTaskGP(
            X, Y, input_transform=inputs, outcome_transform=ChainedOutcomeTransform(log=Log(), scale=Standardize(m=1))
        )
    )


def warp() -> Any:
    """The tutorial on input warping: a Kumaraswamy distribution with its prior, learned with the kernel."""
    X, Y = hartmann()
    prior = LogNormalPrior(0.0, 0.75**0.5)
    subject = Warp(d=3, indices=[0, 1, 2], concentration1_prior=prior, concentration0_prior=prior)
    return fit(SingleTaskGP(X, Y, input_transform=subject))


def mixed() -> Any:
    """The example of MixedSingleTaskGP."""
    g = torch.Generator().manual_seed(4)
    X = torch.cat([torch.rand(20, 2, generator=g).double(), torch.randint(3, (20, 1), generator=g).double()], dim=-1)
    Y = torch.sin(X[..., :-1]).sum(dim=1, keepdim=True) + X[..., -1:]
    return fit(MixedSingleTaskGP(X, Y, cat_dims=[-1]))


def tasks() -> Any:
    """The example of MultiTaskGP: two functions, and the column that says which."""
    X, (item, two) = uniform(torch.tensor([[0.0, 0.0], [1.0, 1.0]]).double(), 24, 5), (10, 14)
    task = torch.cat([torch.zeros(item, 1), torch.ones(two, 1)]).double()
    Y = torch.sin(4 * X[:, :1]) + X[:, 1:] * (1 + task)
    torch.manual_seed(0)  # the correlations of tasks start at random
    return fit(MultiTaskGP(torch.cat([X, task], dim=-1), Y, task_feature=-1))


def variational() -> Any:
    X, Y = branin()
    torch.manual_seed(0)
    scale = Normalize(d=2, bounds=BRANIN)
    model = SingleTaskVariationalGP(X, Y, inducing_points=8, input_transform=scale, outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(VariationalELBO(model.likelihood, model.model, num_data=16), optimizer_kwargs=STEPS)
    return model


def additive() -> Any:
    X, Y = hartmann()
    torch.manual_seed(0)
    return fit(AdditiveMapSaasSingleTaskGP(X, Y, num_taus=2, input_transform=FilterFeatures(torch.tensor([2, 0]))))


@cache
def sampled() -> Any:
    """SAAS by NUTS, which takes its seed as an argument. Most of the time goes into compiling the sampler."""
    X, Y = branin()
    scale = Normalize(d=2, bounds=BRANIN)
    model = SaasFullyBayesianSingleTaskGP(X[:10], Y[:10], input_transform=scale, outcome_transform=Standardize(m=1))
    few = {"max_tree_depth": 3, "warmup_steps": 8, "num_samples": 8, "thinning": 2}
    fit_fully_bayesian_model_nuts(model, disable_progbar=True, **few)
    return model


def fully_bayesian() -> Any:
    return deepcopy(sampled())


def bayesian_list() -> Any:
    """A fully Bayesian model beside one that is not."""
    return ModelListGP(deepcopy(sampled()), single_task())


def drawn(*, warping: bool = False, **transforms: Any) -> Any:
    """A fully Bayesian model of three draws that were made by hand."""
    X, Y = branin()
    model = SaasFullyBayesianSingleTaskGP(X[:10] / 15, Y[:10] / 50, use_input_warping=warping, **transforms)
    scales = torch.tensor([[0.3, 0.8], [0.5, 0.4], [0.7, 1.5]], dtype=torch.float64)
    samples = {"lengthscale": scales, "outputscale": scales[:, 0] + 1, "mean": scales[:, 1], "noise": scales[:, 0] / 30}
    if warping:
        samples |= {"c0": 0.5 + scales, "c1": 1.8 - scales}
    model.load_mcmc_samples(samples)
    return model.eval()


def drawn_tasks() -> Any:
    """Two tasks and three draws, of which the correlations of the tasks are part."""
    X, Y = branin()
    task = (torch.arange(10) % 2)[:, None].double()
    model = SaasFullyBayesianMultiTaskGP(torch.cat([X[:10] / 15, task], 1), Y[:10] / 50, task_feature=-1)
    scales = torch.tensor([[0.3, 0.8], [0.5, 0.4], [0.7, 1.5]], dtype=torch.float64)
    samples = {"lengthscale": scales, "outputscale": scales[:, 0] + 1, "mean": scales, "noise": scales[:, 0] / 30}
    features = torch.stack([scales, 1 - scales], dim=1)
    model.load_mcmc_samples(samples | {"task_lengthscale": scales, "latent_features": features})
    return model.eval()


def predicted(model: Any, X: Array) -> Array:
    """posterior(X).mean, averaged over draws of hyper-parameters, of a copy: it would change the mode of the model."""
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):
        mean = deepcopy(model).posterior(torch.as_tensor(X)).mean
    return (mean if mean.ndim == 2 else mean.mean(0)).squeeze(-1).numpy()


def tensors(thing: Any) -> Any:
    """Everything about a model, as it is: numbers, modes, gradients, caches."""
    return {
        name: {key: _plain(value) for key, value in vars(part).items()}
        | {"grad": [_plain(p.grad) for p in part.parameters()]}
        for name, part in thing.named_modules()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return id(value), value.dtype, value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(subject) for subject in value]
    if isinstance(value, dict):
        return {key: _plain(subject) for key, subject in value.items()}
    return id(value)


def case(name: str, make: Callable[[], Any], X: Array, baseline: Array, **facts: Any) -> HostCase:
    def fitted() -> Fitted:
        with warnings.catch_warnings(action="ignore"):  # data that are not scaled, an optimiser that was stopped
            return Fitted(make(), X, baseline)

    return HostCase(
        name, fitted, lambda subject, X: predicted(subject.model, X), lambda subject: tensors(subject.model), **facts
    )


PLANE = np.array([[2.0, 11.0], [8.0, 3.0]]), np.array([-1.0, 4.0])
CUBE = np.array([[0.8, 0.3, 0.55], [0.1, 0.9, 0.7]]), np.array([0.4, 0.5, 0.6])

EVERY_MODEL = [
    case("SingleTaskGP", single_task, *PLANE),
    case("SingleTaskGP without transforms", bare, *CUBE),
    case("fixed noise", fixed_noise, *CUBE),
    case("two outputs", several_outputs, PLANE[0] / 15, np.array([0.3, 0.4])),
    case("ModelListGP", model_list, *PLANE),
    case("logarithms", logarithms, np.array([[30.0, 1.0], [0.7, 4.0]]), np.array([8.0, 2.0]), panels=16),
    case("Warp", warp, *CUBE),
    case("MixedSingleTaskGP", mixed, np.array([[0.9, 0.2, 1.0], [0.1, 0.7, 1.0]]), np.array([0.4, 0.5, 1.0])),
    case("MultiTaskGP", tasks, np.array([[0.9, 0.2, 1.0], [0.1, 0.7, 1.0]]), np.array([0.4, 0.5, 1.0])),
    case("SingleTaskVariationalGP", variational, *PLANE),
    case("AdditiveMapSaasSingleTaskGP", additive, *CUBE),
    case("draws of tasks", drawn_tasks, np.array([[0.5, 0.6, 1.0], [0.1, 0.4, 1.0]]), np.array([0.2, 0.3, 1.0])),
    case("draws with input warping", partial(drawn, warping=True), np.array([[0.5, 0.6]]), np.array([0.2, 0.3])),
]
BY_NUTS = [
    case("SaasFullyBayesianSingleTaskGP", fully_bayesian, *PLANE),
    case("ModelListGP of a fully Bayesian model and another", bayesian_list, *PLANE),
]
