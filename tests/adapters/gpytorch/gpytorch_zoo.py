"""EVERY_MODEL: kernels x inference x q(u) x likelihoods x means x dtype, all of them trained. One list, every test."""

import torch
from gpytorch import likelihoods as lik
from gpytorch import variational as var
from gpytorch.kernels import (
    ConstantKernel,
    CosineKernel,
    LinearKernel,
    MaternKernel,
    PeriodicKernel,
    PiecewisePolynomialKernel,
    PolynomialKernel,
    RBFKernel,
    RQKernel,
    ScaleKernel,
    SpectralMixtureKernel,
)
from gpytorch.means import ConstantMean, LinearMean, ZeroMean
from gpytorch_entries import Entry, exact, sparse
from gpytorch_models import mixed, tasks
from gpytorch_parts import (
    CauchyKernel,
    ExpPoisson,
    LogisticBernoulli,
    SaturatingPoisson,
    TiltedRBF,
    WaveMean,
)
from torch import Tensor

TWO = torch.Size([2])


def fixed(y: Tensor) -> lik.FixedNoiseGaussianLikelihood:
    return lik.FixedNoiseGaussianLikelihood(torch.full_like(y, 0.05))


def uneven(y: Tensor) -> lik.FixedNoiseGaussianLikelihood:
    return lik.FixedNoiseGaussianLikelihood(0.02 + 0.1 * torch.linspace(0, 1, len(y)).to(y))


def two_gaussians() -> lik.MultitaskGaussianLikelihood:
    return lik.MultitaskGaussianLikelihood(num_tasks=2)


def failures() -> lik.NegativeBinomialLikelihood:
    return lik.NegativeBinomialLikelihood(num_failures_param=True)


def rbf_ard() -> ScaleKernel:
    return ScaleKernel(RBFKernel(ard_num_dims=3))


def matern(nu: float) -> ScaleKernel:
    return ScaleKernel(MaternKernel(nu=nu, ard_num_dims=3))


def nested() -> ScaleKernel:
    local = ScaleKernel(RBFKernel(active_dims=(0, 2), ard_num_dims=2)) * MaternKernel(nu=2.5, active_dims=(1,))
    return ScaleKernel(local + LinearKernel(ard_num_dims=4) + ScaleKernel(RQKernel(active_dims=(3,))))


def two_rbf() -> ScaleKernel:
    return ScaleKernel(RBFKernel(ard_num_dims=3, batch_shape=TWO), batch_shape=TWO)


EXACT = [
    exact("exact rbf ard", rbf_ard),
    exact("exact matern52 float32", lambda: matern(2.5), lambda: LinearMean(3), single=True),
    exact("exact rq fixed noise", lambda: ScaleKernel(RQKernel()), ZeroMean, fixed),
    exact("exact matern32 uneven noise", lambda: matern(1.5), likelihood=uneven),
    exact("exact nested sums and products", nested, features=4),
    exact("exact linear, constant, own mean", lambda: LinearKernel() + ConstantKernel() + rbf_ard(), WaveMean),
    exact("exact deep kernel", lambda: ScaleKernel(RBFKernel()), deep=True, formulas=False),
    exact(
        "exact spectral mixture",
        lambda: SpectralMixtureKernel(num_mixtures=2, ard_num_dims=2),
        features=2,
        formulas=False,
    ),
]

SPARSE = [
    sparse("svgp rbf gaussian", lambda: RBFKernel(), lik.GaussianLikelihood, ZeroMean),
    sparse("svgp rbf ard bernoulli float32", rbf_ard, lik.BernoulliLikelihood, kind="class", single=True),
    sparse(
        "svgp matern32 bernoulli mean-field",
        lambda: matern(1.5),
        lik.BernoulliLikelihood,
        kind="class",
        options={"q": var.MeanFieldVariationalDistribution},
    ),
    sparse(
        "svgp matern52 poisson natural",
        lambda: matern(2.5),
        lik.PoissonLikelihood,
        kind="count",
        options={"q": var.NaturalVariationalDistribution},
    ),
    sparse("svgp rq negative binomial", lambda: ScaleKernel(RQKernel()), lik.NegativeBinomialLikelihood, kind="count"),
    sparse(
        "svgp polynomial negative binomial failures tril-natural",
        lambda: ScaleKernel(PolynomialKernel(power=2)),
        failures,
        kind="count",
        options={"q": var.TrilNaturalVariationalDistribution},
    ),
    sparse(
        "svgp periodic beta",
        lambda: ScaleKernel(PeriodicKernel(ard_num_dims=3)) + LinearKernel(),
        lik.BetaLikelihood,
        kind="share",
    ),
    sparse(
        "svgp cosine student-t float32",
        lambda: ScaleKernel(CosineKernel(active_dims=(1,))) + ScaleKernel(RBFKernel(ard_num_dims=5)),
        lik.StudentTLikelihood,
        features=5,
        single=True,
    ),
    sparse(
        "svgp linear laplace delta",
        lambda: ScaleKernel(LinearKernel()) + ScaleKernel(RBFKernel(active_dims=(2,))),
        lik.LaplaceLikelihood,
        lambda: LinearMean(3),
        options={"q": var.DeltaVariationalDistribution},
    ),
    sparse("svgp rbf own exp counts", rbf_ard, ExpPoisson, WaveMean, kind="count"),
    sparse(
        "unwhitened rbf own logistic classes",
        rbf_ard,
        LogisticBernoulli,
        kind="class",
        options={"strategy": var.UnwhitenedVariationalStrategy},
    ),
    sparse("svgp rbf own saturating counts float32", rbf_ard, SaturatingPoisson, kind="count", single=True),
    sparse(
        "unwhitened matern52 gaussian delta",
        lambda: matern(2.5),
        mean=WaveMean,
        options={"strategy": var.UnwhitenedVariationalStrategy, "q": var.DeltaVariationalDistribution},
    ),
    sparse(
        "unwhitened rbf poisson mean-field float32",
        rbf_ard,
        lik.PoissonLikelihood,
        kind="count",
        single=True,
        options={"strategy": var.UnwhitenedVariationalStrategy, "q": var.MeanFieldVariationalDistribution},
    ),
    sparse(
        "svgp product bernoulli with jitter 1e-3",
        lambda: ScaleKernel(RBFKernel(active_dims=(0,)) * PeriodicKernel(active_dims=(1, 2))),
        lik.BernoulliLikelihood,
        kind="class",
        options={"jitter": 1e-3},
    ),
    sparse("svgp piecewise polynomial", lambda: ScaleKernel(PiecewisePolynomialKernel(q=2))),
    sparse("svgp tilted rbf", lambda: ScaleKernel(TiltedRBF()), lik.BernoulliLikelihood, kind="class", formulas=False),
    sparse(
        "svgp own kernel in a sum",
        lambda: ScaleKernel(CauchyKernel(ard_num_dims=3)) + LinearKernel(active_dims=(0,)),
        lik.PoissonLikelihood,
        kind="count",
        formulas=False,
    ),
    sparse(
        "svgp deep kernel bernoulli float32",
        lambda: ScaleKernel(RBFKernel()),
        lik.BernoulliLikelihood,
        kind="class",
        single=True,
        deep=True,
        formulas=False,
    ),
    sparse(
        "svgp spectral mixture",
        lambda: SpectralMixtureKernel(num_mixtures=2, ard_num_dims=2),
        lik.BernoulliLikelihood,
        kind="class",
        features=2,
        formulas=False,
    ),
]

SEVERAL = [
    sparse(
        "tasks with kernels and points of their own",
        two_rbf,
        two_gaussians,
        lambda: LinearMean(3, batch_shape=TWO),
        own_points=True,
        kind="tasks",
        options={"latents": 2, "wrap": tasks(2)},
    ),
    sparse(
        "tasks that share kernel and points",
        rbf_ard,
        two_gaussians,
        kind="tasks",
        options={"latents": 2, "wrap": tasks(2)},
    ),
    sparse(
        "tasks with kernels of their own bernoulli float32",
        two_rbf,
        lik.BernoulliLikelihood,
        lambda: ConstantMean(batch_shape=TWO),
        kind="classes",
        single=True,
        options={"latents": 2, "wrap": tasks(2), "q": var.MeanFieldVariationalDistribution},
    ),
    sparse(
        "tasks that repeat one latent bernoulli",
        rbf_ard,
        lik.BernoulliLikelihood,
        kind="classes",
        options={"wrap": tasks(2)},
    ),
    sparse(
        "unwhitened tasks with points of their own",
        lambda: matern(2.5),
        two_gaussians,
        own_points=True,
        kind="tasks",
        options={"latents": 2, "wrap": tasks(2), "strategy": var.UnwhitenedVariationalStrategy},
    ),
    sparse(
        "lmc gaussian float32",
        two_rbf,
        two_gaussians,
        lambda: ConstantMean(batch_shape=TWO),
        kind="tasks",
        single=True,
        options={"latents": 2, "wrap": mixed(2, 2)},
    ),
    sparse(
        "lmc poisson",
        lambda: matern(2.5),
        lik.PoissonLikelihood,
        kind="counts",
        options={"latents": 3, "wrap": mixed(2, 3)},
    ),
    sparse(
        "tasks with autograd kernels of their own",
        lambda: ScaleKernel(CauchyKernel(batch_shape=TWO), batch_shape=TWO),
        two_gaussians,
        kind="tasks",
        formulas=False,
        options={"latents": 2, "wrap": tasks(2)},
    ),
]

EVERY_MODEL: list[Entry] = [*EXACT, *SPARSE, *SEVERAL]  # joining this list is joining the contract
BY_NAME = {entry.name: entry for entry in EVERY_MODEL}
