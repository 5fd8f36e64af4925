"""Models that gplens cannot explain are refused, with what was expected, what was got and what to do."""

import re
from typing import Any

import gpytorch
import pytest
import torch
from gpytorch import likelihoods as lik
from gpytorch import variational as var
from gpytorch.distributions import MultitaskMultivariateNormal, MultivariateNormal
from gpytorch.kernels import (
    ArcKernel,
    MaternKernel,
    MultitaskKernel,
    PiecewisePolynomialKernel,
    RBFKernel,
    ScaleKernel,
)
from gpytorch.means import ConstantMean, MultitaskMean
from gpytorch.models import ApproximateGP, ExactGP
from gpytorch_entries import exact, sparse
from gpytorch_models import Exact, Sparse, tasks
from gpytorch_zoo import BY_NAME, rbf_ard
from torch import Tensor

import gplens
from gplens.targets import Latent

POINTS = torch.linspace(-1, 1, 24, dtype=torch.float64).reshape(8, 3).sin()


def explain(model: Any, likelihood: Any = None, **options: Any) -> gplens.Explanation:
    return gplens.explain(model, POINTS[:2] + 0.1, baseline=0.0, likelihood=likelihood, **options)


@pytest.mark.parametrize(
    "entry",
    [
        exact("exact", lambda: ScaleKernel(MaternKernel(nu=0.5))),
        sparse("sparse", lambda: MaternKernel(nu=0.5)),
        sparse("deep", lambda: MaternKernel(nu=0.5), deep=True),
        sparse("inside a black box", lambda: ArcKernel(MaternKernel(nu=0.5), ard_num_dims=3)),
    ],
    ids=lambda entry: entry.name,
)
def test_matern_one_half_has_no_derivative(entry: Any) -> None:
    host = entry.build()
    host.model.eval()(POINTS)
    with pytest.raises(ValueError, match=r"MaternKernel\(nu=0.5\).*nu=1.5 or nu=2.5"):
        explain(host.model, host.likelihood)


def test_a_variational_model_that_was_never_fitted() -> None:
    host = sparse("unfitted", rbf_ard).build()
    with pytest.raises(ValueError, match="variational distribution"):
        explain(host.model, host.likelihood)
    assert int(host.model.variational_strategy.variational_params_initialized) == 0


def test_an_exact_model_without_data() -> None:
    model = Exact(None, None, lik.GaussianLikelihood(), rbf_ard(), ConstantMean()).double()
    with pytest.raises(ValueError, match=r"ExactGP.*training data"):
        explain(model)


class Shifted(Exact):
    """Adds 0.5 to its predictions where nobody sees it."""

    def __call__(self, *args: Any, **kwargs: Any) -> MultivariateNormal:
        f = super().__call__(*args, **kwargs)
        return f if self.training else MultivariateNormal(f.mean + 0.5, f.lazy_covariance_matrix)


class Blurred(Sparse):
    """Doubles its covariance where nobody sees it."""

    def __call__(self, *args: Any, **kwargs: Any) -> MultivariateNormal:
        f = super().__call__(*args, **kwargs)
        return MultivariateNormal(f.mean, 2 * f.lazy_covariance_matrix)


def test_a_call_that_does_more_is_refused_with_both_numbers() -> None:
    y = POINTS.sum(1)
    model = Shifted(POINTS, y, lik.GaussianLikelihood(), RBFKernel(), ConstantMean()).double()
    with pytest.raises(ValueError, match="mean") as e:
        explain(model)
    ours, host, *_ = (float(number) for number in re.findall(r"-?\d+\.\d+(?:e[-+]\d+)?", str(e.value)))
    assert host - ours == pytest.approx(0.5, abs=1e-8)


def test_another_variance_is_refused_too() -> None:
    model = Blurred(POINTS, RBFKernel(), ConstantMean()).double()
    model.eval()(POINTS + 1)
    with pytest.raises(ValueError, match=r"variance of 1\.000001 .* 2\.000002"):
        explain(model, lik.BernoulliLikelihood())


class Foreign(ApproximateGP):
    """A model with a strategy that gplens does not know."""

    def __init__(self, kind: str) -> None:
        q = var.CholeskyVariationalDistribution(8)
        if kind == "ciq":
            strategy = var.CiqVariationalStrategy(self, POINTS, var.NaturalVariationalDistribution(8))
        elif kind == "decoupled":
            inner = var.VariationalStrategy(self, POINTS, q)
            strategy = var.OrthogonallyDecoupledVariationalStrategy(
                inner, POINTS + 1, var.DeltaVariationalDistribution(8)
            )
        else:
            strategy = var.BatchDecoupledVariationalStrategy(self, POINTS, q)
        super().__init__(strategy)
        self.mean_module, self.covar_module = ConstantMean(), ScaleKernel(RBFKernel())

    def forward(self, x: Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


@pytest.mark.parametrize("kind", ["ciq", "decoupled", "batch decoupled"])
def test_an_unknown_strategy(kind: str) -> None:
    with pytest.raises(ValueError, match=r"UnwhitenedVariationalStrategy.* \w+VariationalStrategy;"):
        explain(Foreign(kind).double(), lik.GaussianLikelihood())


class ExactTasks(ExactGP):
    """Several outputs with correlated noise: not a single latent function."""

    def __init__(self, y: Tensor) -> None:
        super().__init__(POINTS, y, lik.MultitaskGaussianLikelihood(num_tasks=2))
        self.mean_module = MultitaskMean(ConstantMean(), num_tasks=2)
        self.covar_module = MultitaskKernel(RBFKernel(), num_tasks=2)

    def forward(self, x: Tensor) -> MultitaskMultivariateNormal:
        return MultitaskMultivariateNormal(self.mean_module(x), self.covar_module(x))


def test_an_exact_model_with_several_outputs() -> None:
    model = ExactTasks(torch.stack([POINTS.sum(1), POINTS[:, 0]], 1)).double()
    with pytest.raises(ValueError, match=r"MultitaskMultivariateNormal prior.*one model at a time"):
        explain(model)


def test_a_batch_of_exact_models() -> None:
    two = torch.Size([2])
    x, y = POINTS.expand(2, -1, -1), torch.stack([POINTS.sum(1), POINTS[:, 0]])
    kernel = ScaleKernel(RBFKernel(batch_shape=two), batch_shape=two)
    model = Exact(x, y, lik.GaussianLikelihood(batch_shape=two), kernel, ConstantMean(batch_shape=two)).double()
    with pytest.raises(ValueError, match=r"inputs of shape \[\(2, 8, 3\)\].*one model at a time"):
        explain(model)


@pytest.mark.parametrize("name", ["exact rbf ard", "svgp rbf gaussian", "tasks with kernels and points of their own"])
def test_a_wrong_number_of_columns(name: str) -> None:
    host = BY_NAME[name].fresh()
    with pytest.raises(ValueError, match=r" 3 columns.* 4"):
        gplens.explain(host.model, torch.zeros(2, 4), baseline=0.0, likelihood=host.likelihood)


def test_a_likelihood_of_another_number_of_tasks() -> None:
    host = BY_NAME["tasks that share kernel and points"].fresh()
    with pytest.raises(ValueError, match=r"(?=.*MultitaskGaussianLikelihood)(?=.* 3\b)(?=.* 2\b)"):
        explain(host.model, lik.MultitaskGaussianLikelihood(num_tasks=3))


def test_another_likelihood_for_an_exact_model() -> None:
    with pytest.raises(ValueError, match=r" GaussianLikelihood.* BernoulliLikelihood"):
        explain(BY_NAME["exact rbf ard"].fresh().model, lik.BernoulliLikelihood())


def test_a_response_without_a_likelihood() -> None:
    model = BY_NAME["svgp rbf gaussian"].fresh().model
    with pytest.raises(ValueError, match=r"likelihood.*Latent\(\)"):
        explain(model)
    assert explain(model, target=Latent()).values.shape == (2, 3)


def test_a_likelihood_that_is_none() -> None:
    with pytest.raises(TypeError, match=r"likelihood.*builtins\.str"):
        explain(BY_NAME["svgp rbf gaussian"].fresh().model, "poisson")


def test_a_likelihood_with_a_batch_of_parameters() -> None:
    with pytest.raises(ValueError, match=r"BetaLikelihood.forward\(\).*\(2, 3\)"):
        explain(
            BY_NAME["tasks that share kernel and points"].fresh().model,
            lik.BetaLikelihood(batch_shape=torch.Size([2])),
        )


def test_a_class_instead_of_a_model() -> None:
    with pytest.raises(TypeError, match="class Sparse"):
        explain(Sparse)


def test_a_model_of_another_family() -> None:
    class Deep(gpytorch.models.deep_gps.DeepGP):
        pass

    with pytest.raises(TypeError, match=r"ExactGP.* Deep"):
        explain(Deep())


def test_two_batch_axes() -> None:
    model = Sparse(POINTS, rbf_ard(), ConstantMean(), latents=2, wrap=tasks(2)).double()
    model.covar_module = ScaleKernel(RBFKernel(batch_shape=torch.Size([3, 2])), batch_shape=torch.Size([3, 2]))
    model.double().variational_strategy.base_variational_strategy.variational_params_initialized.fill_(1)
    with pytest.raises(ValueError, match="batch axis"):
        explain(model, lik.BernoulliLikelihood())


def test_a_piecewise_polynomial_of_order_zero_is_as_rough_as_matern_one_half() -> None:
    host = sparse("kinks", lambda: ScaleKernel(PiecewisePolynomialKernel(q=0))).build()
    host.model.eval()(POINTS)
    with pytest.raises(ValueError, match=r"q=0\).*q=1, 2 or 3"):
        explain(host.model, host.likelihood)
