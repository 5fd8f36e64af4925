"""EVERY_ACQUISITION: BoTorch's acquisition functions on small models. A new class joins the contract by joining it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from botorch.acquisition import analytic, monte_carlo
from botorch.acquisition.logei import qLogExpectedImprovement, qLogNoisyExpectedImprovement
from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.monte_carlo import qExpectedHypervolumeImprovement
from botorch.acquisition.objective import LinearMCObjective, ScalarizedPosteriorTransform
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
from botorch.models.transforms import Log, Normalize, Standardize
from botorch.sampling import SobolQMCNormalSampler
from botorch.utils.multi_objective.box_decompositions import NondominatedPartitioning
from torch import Tensor

BOUNDS = torch.tensor([[-5.0, 0.0, 1.0], [10.0, 15.0, 3.0]]).double()
DIMS = 3


def inputs(count: int, seed: int) -> Tensor:
    unit = torch.rand(count, DIMS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return BOUNDS[0] + unit * (BOUNDS[1] - BOUNDS[0])


def outcomes(X: Tensor) -> Tensor:
    """Two outcomes, the second one above zero."""
    u = (X - BOUNDS[0]) / (BOUNDS[1] - BOUNDS[0])
    first = torch.sin(5 * u[:, 0]) + u[:, 1] ** 2 - 0.5 * u[:, 2]
    second = torch.exp(torch.cos(4 * u[:, 1]) * u[:, 0] + 0.3 * u[:, 2])
    return torch.stack([20 * first + 3, second], dim=1)


CANDIDATES, INCUMBENT = inputs(2, 7), inputs(12, 0)[4]
GOOD, UNSEEN = torch.tensor([[-0.5, 13.0, 1.3], [-1.0, 10.5, 1.1]]).double(), inputs(12, 0).mean(0)
REFERENCE = torch.tensor([-10.0, 0.5]).double()


def single(X: Tensor, y: Tensor, transform: Any = None, lengthscale: float = 0.6) -> SingleTaskGP:
    """A model with fixed hyper-parameters: fitting is not what is tested."""
    model = SingleTaskGP(
        X, y, input_transform=Normalize(d=DIMS, bounds=BOUNDS), outcome_transform=transform or Standardize(m=y.shape[1])
    )
    model.covar_module.lengthscale = lengthscale * torch.tensor([1.0, 1.4, 2.0])
    model.likelihood.noise = 1e-3
    return model.eval()


@cache
def one() -> Any:
    X = inputs(12, 0)
    return single(X, outcomes(X)[:, :1])


@cache
def two() -> Any:
    X = inputs(12, 0)
    return single(X, outcomes(X))


@cache
def logarithm() -> Any:
    X = inputs(12, 0)
    return single(X, outcomes(X)[:, 1:], Log())


@cache
def listed() -> Any:
    X = inputs(12, 0)
    return ModelListGP(single(X, outcomes(X)[:, :1]), single(X[:9], outcomes(X[:9])[:, 1:], lengthscale=0.8))


@cache
def bayesian(column: int = 0) -> Any:
    """Three draws of hyper-parameters, as NUTS would leave them."""
    X = inputs(12, 0)
    model = SaasFullyBayesianSingleTaskGP(
        X,
        outcomes(X)[:, column : column + 1],
        input_transform=Normalize(d=DIMS, bounds=BOUNDS),
        outcome_transform=Standardize(m=1),
    )
    g = torch.Generator().manual_seed(column)
    draws = {
        "lengthscale": 0.4 + torch.rand(3, 1, DIMS, generator=g, dtype=torch.float64),
        "outputscale": 0.8 + torch.rand(3, generator=g, dtype=torch.float64),
        "mean": 0.1 * torch.randn(3, generator=g, dtype=torch.float64),
        "noise": 1e-3 * torch.ones(3, 1, dtype=torch.float64),
    }
    model.load_mcmc_samples(draws)
    return model.eval()


def sampler(count: int = 8) -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([count]), seed=3)


def best(column: int = 0) -> Tensor:
    return outcomes(inputs(12, 0))[:, column].quantile(0.7)


def hypervolume(model: Any) -> Any:
    partitioning = NondominatedPartitioning(REFERENCE, Y=outcomes(inputs(12, 0)))
    return ExpectedHypervolumeImprovement(model, REFERENCE.tolist(), partitioning)


@dataclass(frozen=True)
class AcquisitionCase:
    """An acquisition function, and where its gradient has kinks."""

    name: str
    build: Callable[[], Any]
    kinks: float | None = None
    """None if it is smooth; else the distance over which a sample's utility bends, zero for a kink."""
    closed: bool = True
    """Whether it is read as a function of the posterior, rather than by autograd."""
    tolerance: float = 1e-9
    """Larger where the logarithm of an excess of 1e-6 leaves no more digits of it, or kinks are not known."""
    sums: float = 1e-8
    """How far the sum of attributions may be from the change of the acquisition function."""
    captum: float = 1e-6
    """How far attributions may be from those of Captum, with 512 steps between the kinks of samples."""
    ends: tuple[Tensor, Tensor] = (CANDIDATES, INCUMBENT)
    """Candidates, and the baseline. An observed point is where noisy improvements begin at zero exactly."""

    def __repr__(self) -> str:
        return self.name


BOUNDED = {1: (None, 2.0)}
WEIGHTED = ScalarizedPosteriorTransform(torch.tensor([0.5, -3.0]).double(), offset=1.5)
EVERY_ACQUISITION = [
    AcquisitionCase("mean", lambda: analytic.PosteriorMean(one())),
    AcquisitionCase("mean, minimised", lambda: analytic.PosteriorMean(one(), maximize=False)),
    AcquisitionCase("scalarised mean", lambda: analytic.ScalarizedPosteriorMean(one(), torch.tensor([2.5]).double())),
    AcquisitionCase("deviation", lambda: analytic.PosteriorStandardDeviation(one())),
    AcquisitionCase("UCB", lambda: analytic.UpperConfidenceBound(one(), beta=0.3)),
    AcquisitionCase("UCB, minimised", lambda: analytic.UpperConfidenceBound(one(), beta=2.0, maximize=False)),
    AcquisitionCase("UCB of a weighted sum", lambda: analytic.UpperConfidenceBound(two(), 1.0, WEIGHTED)),
    AcquisitionCase("PI", lambda: analytic.ProbabilityOfImprovement(one(), best())),
    AcquisitionCase("PI, minimised", lambda: analytic.ProbabilityOfImprovement(one(), best(), maximize=False)),
    AcquisitionCase("log PI", lambda: analytic.LogProbabilityOfImprovement(one(), best())),
    AcquisitionCase("EI", lambda: analytic.ExpectedImprovement(one(), best())),
    AcquisitionCase("EI, minimised", lambda: analytic.ExpectedImprovement(one(), best(), maximize=False)),
    AcquisitionCase("EI of a logarithm", lambda: analytic.ExpectedImprovement(logarithm(), best(1))),
    AcquisitionCase("log EI", lambda: analytic.LogExpectedImprovement(one(), best())),
    AcquisitionCase("log EI in the tail", lambda: analytic.LogExpectedImprovement(one(), 20 * best())),
    AcquisitionCase("constrained EI", lambda: analytic.ConstrainedExpectedImprovement(two(), best(), 0, BOUNDED)),
    AcquisitionCase(
        "log constrained EI", lambda: analytic.LogConstrainedExpectedImprovement(listed(), best(), 0, {1: (1.0, 1.6)})
    ),
    AcquisitionCase(
        "log feasibility", lambda: analytic.LogProbabilityOfFeasibility(two(), {0: (5.0, None), 1: (0.5, 2.0)})
    ),
    AcquisitionCase("EHVI", lambda: hypervolume(two())),
    AcquisitionCase("EHVI of a list", lambda: hypervolume(listed())),
    AcquisitionCase("qEI", lambda: monte_carlo.qExpectedImprovement(one(), best(), sampler()), kinks=0.0),
    AcquisitionCase(
        "qEI of a linear objective",
        lambda: monte_carlo.qExpectedImprovement(
            two(), 0.0, sampler(4), objective=LinearMCObjective(torch.tensor([0.1, -1.0]).double())
        ),
        kinks=0.0,
    ),
    AcquisitionCase("q log EI", lambda: qLogExpectedImprovement(one(), best(), sampler(4)), kinks=1e-6, tolerance=1e-8),
    AcquisitionCase(
        "q log EI, thin",
        lambda: qLogExpectedImprovement(one(), best(), sampler(4), fat=False, tau_relu=1e-2),
        kinks=1e-2,
    ),
    AcquisitionCase("qPI", lambda: monte_carlo.qProbabilityOfImprovement(one(), best(), sampler(4)), kinks=1e-3),
    AcquisitionCase("qUCB", lambda: monte_carlo.qUpperConfidenceBound(one(), 0.3, sampler())),
    AcquisitionCase("qLCB", lambda: monte_carlo.qLowerConfidenceBound(one(), 0.3, sampler())),
    AcquisitionCase("q simple regret", lambda: monte_carlo.qSimpleRegret(one(), sampler())),
    AcquisitionCase("EI, fully Bayesian", lambda: analytic.ExpectedImprovement(bayesian(), best())),
    AcquisitionCase("log EI, fully Bayesian", lambda: analytic.LogExpectedImprovement(bayesian(), best())),
    AcquisitionCase("UCB, fully Bayesian", lambda: analytic.UpperConfidenceBound(bayesian(), beta=0.5)),
    AcquisitionCase(
        "q log EI, fully Bayesian",
        lambda: qLogExpectedImprovement(bayesian(), best(), sampler(4), tau_relu=1e-2),
        kinks=1e-2,
        tolerance=1e-8,
    ),
    AcquisitionCase(
        "q log EI of a small tau, fully Bayesian",
        lambda: qLogExpectedImprovement(bayesian(), best(), sampler(2)),
        kinks=1e-6,
        tolerance=1e-7,  # rounding of m, in units of tau, is some 1e-8 of the function
    ),
    AcquisitionCase(
        "q log NEI",
        lambda: qLogNoisyExpectedImprovement(one(), inputs(12, 0), sampler(8), prune_baseline=False),
        kinks=1e-6,
        closed=False,
        tolerance=1e-7,
        ends=(GOOD, UNSEEN),
    ),
    AcquisitionCase(
        "q log NEI, smooth",
        lambda: qLogNoisyExpectedImprovement(one(), inputs(12, 0), sampler(16), tau_relu=0.1, prune_baseline=False),
        closed=False,
        tolerance=1e-7,
        ends=(CANDIDATES, UNSEEN),
    ),
    AcquisitionCase(
        "q log NEHVI",
        lambda: qLogNoisyExpectedHypervolumeImprovement(
            listed(), REFERENCE, inputs(12, 0)[:9], sampler(2), tau_relu=1e-2
        ),
        kinks=1e-2,
        closed=False,
        tolerance=1e-7,
        ends=(GOOD, UNSEEN),
    ),
    AcquisitionCase(
        "q log NEHVI of a small tau",
        lambda: qLogNoisyExpectedHypervolumeImprovement(listed(), REFERENCE, inputs(12, 0)[:9], sampler(2)),
        kinks=1e-6,
        closed=False,
        tolerance=1e-7,
        ends=(GOOD, UNSEEN),
    ),
    AcquisitionCase(
        "EHVI of samples",
        lambda: qExpectedHypervolumeImprovement(
            listed(),
            REFERENCE,
            NondominatedPartitioning(REFERENCE, Y=outcomes(inputs(12, 0))),
            sampler(4),
        ),
        kinks=0.0,
        closed=False,
        tolerance=1e-8,
        ends=(GOOD, UNSEEN),
    ),
]
