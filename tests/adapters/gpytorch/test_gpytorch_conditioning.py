"""Duplicated support points and nearly singular matrices: the host's numbers with its jitter, or a clear error."""

from typing import Any

import gpytorch
import pytest
import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import LinearKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import BernoulliLikelihood, FixedNoiseGaussianLikelihood, GaussianLikelihood
from gpytorch.means import ConstantMean
from gpytorch.variational import UnwhitenedVariationalStrategy, VariationalStrategy
from gpytorch_models import Exact, Sparse
from linear_operator.utils.warnings import NumericalWarning
from torch import Tensor

import gplens
from gplens.targets import EpistemicVariance, Latent
from oracles.dense_svgp import marginal

DRAW = torch.Generator().manual_seed(5)
X = torch.rand(10, 3, generator=DRAW, dtype=torch.float64) * 3 - 1.5
Y = X.sin().sum(1)
INPUTS = X[:2] + 0.1


def twice(apart: float) -> Tensor:
    """Every point again, a little further."""
    return torch.cat([X, X + apart])


def sparse(Z: Tensor, strategy: Any = VariationalStrategy, lengthscale: float = 0.7, **options: Any) -> Sparse:
    """With a q(u) that is not the prior."""
    model = Sparse(Z, ScaleKernel(RBFKernel()), ConstantMean(), strategy=strategy, **options).double()
    model.covar_module.base_kernel.lengthscale = lengthscale
    model.eval()(INPUTS)
    with torch.no_grad():
        for parameter in model.variational_parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=DRAW, dtype=torch.float64)
        model.variational_strategy.inducing_points.copy_(Z)
    return model.train().eval()


def agrees_with_the_host(model: Any, likelihood: Any, limit: float) -> gplens.Explanation:
    result = gplens.explain(model, INPUTS, baseline=0.0, likelihood=likelihood, tolerance=1e-8)
    with torch.no_grad():
        f = model(INPUTS)
    m, v = (gplens.explain(model, INPUTS, baseline=0.0, target=target) for target in (Latent(), EpistemicVariance()))
    assert (m.prediction - f.mean).abs().max() <= limit
    assert (v.prediction - f.variance).abs().max() <= limit
    assert result.gap.abs().max() <= 1e-9
    return result


@pytest.mark.parametrize("strategy", [VariationalStrategy, UnwhitenedVariationalStrategy], ids=lambda s: s.__name__)
@pytest.mark.parametrize("apart", [0.0, 1e-10, 1e-5])
def test_duplicated_inducing_points_are_the_host_s_with_its_jitter(apart: float, strategy: Any) -> None:
    agrees_with_the_host(sparse(twice(apart), strategy), BernoulliLikelihood(), 1e-8)


@pytest.mark.parametrize("apart", [0.0, 1e-10])
@pytest.mark.parametrize("noise", [1e-2, 1e-6, 1e-10])
def test_an_exact_model_with_duplicated_inputs_and_tiny_noise_is_the_host_s(noise: float, apart: float) -> None:
    """K alone is singular; K + noise is not."""
    with gpytorch.settings.min_fixed_noise(double_value=1e-12):
        likelihood = FixedNoiseGaussianLikelihood(torch.full((20,), noise, dtype=torch.float64))
        model = Exact(twice(apart), Y.repeat(2), likelihood, ScaleKernel(RBFKernel()), ConstantMean()).double().eval()
        agrees_with_the_host(model, None, 1e-8)


def test_the_jitter_that_the_host_adds_in_distress_is_added_and_noted() -> None:
    """K + 1e-18 of points that coincide is not positive definite; the host then adds 1e-8 to its diagonal."""
    likelihood = GaussianLikelihood(noise_constraint=GreaterThan(1e-20)).double()
    likelihood.noise = 1e-18
    model = Exact(twice(0.0), Y.repeat(2), likelihood, ScaleKernel(RBFKernel()), ConstantMean()).double().eval()
    note = "K + noise was not positive definite; as the host does: A not p.d., added jitter of 1.0e-08 to the diagonal"
    result = gplens.explain(model, INPUTS, baseline=0.0)
    assert note in result.provenance.notes
    with pytest.warns(NumericalWarning, match="added jitter of 1.0e-08"), torch.no_grad():
        assert (result.prediction - model(INPUTS).mean).abs().max() <= 1e-10


class Negative(RBFKernel):
    """Not a covariance at all."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return -super().forward(*args, **kwargs)


def test_a_matrix_that_no_jitter_saves_is_refused() -> None:
    model = Sparse(X, Negative(), ConstantMean()).double()
    model.variational_strategy.variational_params_initialized.fill_(1)
    with pytest.raises(ArithmeticError, match=r"K of the inducing points.* 10 points"):
        gplens.explain(model, INPUTS, baseline=0.0, likelihood=BernoulliLikelihood())


@pytest.mark.parametrize("lengthscale", [0.7, 3.0, 30.0])
def test_m_and_v_of_a_badly_conditioned_model_hold_against_40_digits(lengthscale: float) -> None:
    """K conditioned from 1e1 to 1e7: what is lost is lost to K's own rounding, 1e-16 times the condition."""
    model = sparse(X, lengthscale=lengthscale)
    q, kernel = model.variational_strategy.variational_distribution, model.covar_module
    facts = {
        "lengthscale": kernel.base_kernel.lengthscale.item(),
        "scale": kernel.outputscale.item(),
        "mean": model.mean_module.constant.item(),
        "a": q.mean.detach(),
        "B": q.covariance_matrix.detach(),
        "jitter": 1e-6,
    }
    condition = float(torch.linalg.cond(kernel(X).to_dense().detach() + 1e-6 * torch.eye(10)))
    m, v = (gplens.explain(model, INPUTS, baseline=0.0, target=target) for target in (Latent(), EpistemicVariance()))
    for i, x in enumerate(INPUTS):
        exact_m, exact_v = marginal(x, X, **facts)
        assert float(m.prediction[i]) == pytest.approx(exact_m, abs=1e-14 + 1e-16 * condition)
        assert float(v.prediction[i]) == pytest.approx(exact_v, abs=1e-14 + 1e-16 * condition)


def test_inputs_that_coincide_give_no_warnings_of_the_host() -> None:
    """Training inputs, explained: a sum with a LinearKernel factorises K of the inputs, for no use of ours."""
    kernel = ScaleKernel(RBFKernel()) + LinearKernel()
    model = Exact(X, Y, GaussianLikelihood(), kernel, ConstantMean()).double()
    result = gplens.explain(model, X[[0, 0, 1, 1]], baseline=X[0])
    assert result.values[0].abs().max() == 0
    torch.testing.assert_close(result.values[2], result.values[3], rtol=1e-14, atol=1e-15)


def test_a_float32_model_that_is_sure_of_everything_is_explained() -> None:
    """v is 3e-6 of k(x,x) here, which the float32 host has to one digit: rounding, no reason to refuse."""
    x = torch.rand(400, 2, generator=DRAW) * 2 - 1
    likelihood = GaussianLikelihood()
    likelihood.noise = 2e-4
    model = Exact(x, x.sin().sum(1), likelihood, ScaleKernel(RBFKernel()), ConstantMean())
    model.covar_module.base_kernel.lengthscale = 2.0
    result = gplens.explain(model, x[:8], baseline=0.0)
    model.eval()
    with torch.no_grad():
        assert (result.prediction - model(x[:8]).mean.double()).abs().max() <= 1e-3


def test_a_sum_of_which_the_data_leave_no_doubt_is_explained() -> None:
    """v is 3e-9, which the host clamps to its own least variance of 1e-10."""
    likelihood = GaussianLikelihood(noise_constraint=GreaterThan(1e-20)).double()
    likelihood.noise = 1e-18
    model = Exact(twice(0.0), Y.repeat(2), likelihood, ScaleKernel(LinearKernel()), ConstantMean()).double()
    result = gplens.explain(model, INPUTS, baseline=0.0)
    assert result.gap.abs().max() <= 1e-8
