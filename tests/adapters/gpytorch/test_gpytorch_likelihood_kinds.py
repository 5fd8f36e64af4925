"""Gaussian, Bernoulli and softmax likelihoods that do something else far out; noise of inputs; half precision."""

from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood, SoftmaxLikelihood
from gpytorch.likelihoods.gaussian_likelihood import _GaussianLikelihoodBase
from gpytorch.likelihoods.noise_models import HeteroskedasticNoise
from gpytorch.means import ConstantMean
from gpytorch_models import Exact, Sparse, tasks
from torch import Tensor
from torch.distributions import Bernoulli, Categorical

import gplens
from gplens.baselines import Rows
from gplens.targets import EpistemicVariance, Exceeds, Latent, PredictiveVariance
from messages import naming

POINTS = torch.linspace(-1, 1, 24, dtype=torch.float64).reshape(8, 3).sin()
X, X0 = POINTS[:2] + 0.1, torch.zeros(3, dtype=torch.float64)


class ClampedGaussian(GaussianLikelihood):
    def marginal(self, function_dist: MultivariateNormal, *args: Any, **kwargs: Any) -> Any:
        y = super().marginal(function_dist, *args, **kwargs)
        return type(y)(y.mean.clamp(-60, 60), y.lazy_covariance_matrix)


class NoisyFarOut(GaussianLikelihood):
    def marginal(self, function_dist: MultivariateNormal, *args: Any, **kwargs: Any) -> Any:
        y = super().marginal(function_dist, *args, **kwargs)
        return type(y)(y.mean, y.lazy_covariance_matrix + torch.diag((y.mean.abs() > 60).to(y.mean)))


class ClampedSoftmax(SoftmaxLikelihood):
    def forward(self, function_samples: Tensor, *params: Any, **kwargs: Any) -> Categorical:
        return super().forward(function_samples.clamp(max=60), *params, **kwargs)


class TimidBernoulli(BernoulliLikelihood):
    """Never sure: beyond 60 it takes everything for 60, in forward and in its closed marginal, or in that alone."""

    def __init__(self, *, forward: bool) -> None:
        super().__init__()
        self.both = forward

    def forward(self, function_samples: Tensor, *args: Any, **kwargs: Any) -> Bernoulli:
        return super().forward(
            torch.where(function_samples > 60, 0.5 if self.both else function_samples, function_samples)
        )

    def marginal(self, function_dist: MultivariateNormal, *args: Any, **kwargs: Any) -> Bernoulli:
        p = super().marginal(function_dist).mean
        return Bernoulli(probs=torch.where(function_dist.mean > 60, 0.7, p))


def model(mean: float, latents: int | None = None) -> Any:
    torch.manual_seed(0)
    wrap = {} if latents is None else {"latents": latents, "wrap": tasks(latents)}
    subject = Sparse(POINTS[:5], ScaleKernel(RBFKernel()), ConstantMean(), **wrap).double()
    subject.mean_module.constant.data.fill_(mean)
    strategy: Any = subject.variational_strategy
    strategy = strategy if latents is None else strategy.base_variational_strategy
    strategy.variational_params_initialized.fill_(1)
    strategy._variational_distribution.variational_mean.data.normal_()
    return subject.eval()


@pytest.mark.parametrize(
    ("likelihood", "latents"),
    [
        (ClampedGaussian(), None),
        (NoisyFarOut(), None),
        (ClampedSoftmax(num_classes=3, mixing_weights=False), 3),
        (TimidBernoulli(forward=True), None),
        (TimidBernoulli(forward=False), None),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("mean", [0.0, 50.0, 100.0])
def test_what_they_do_far_out_is_refused_there_alone(likelihood: Any, latents: int | None, mean: float) -> None:
    near, far = model(0.0, latents), model(mean, latents)
    reading = gplens.read(near, likelihood.double())
    assert gplens.explain(reading, X, baseline=Rows(X0)).values.isfinite().all()
    if mean < 100:
        return
    for subject in (far, gplens.read(far, likelihood)):
        with pytest.raises(ValueError, match=naming(type(likelihood).__name__)):
            gplens.explain(subject, X, baseline=Rows(X0), likelihood=likelihood)


def noisy_model(rng: np.random.Generator) -> tuple[Any, Any]:
    """y = f + noise whose logarithm is another Gaussian process, as in BoTorch's HeteroskedasticSingleTaskGP."""
    Z = torch.as_tensor(rng.random((12, 3)))
    noise = Exact(
        Z, torch.as_tensor(rng.normal(size=12)) - 3, GaussianLikelihood(), RBFKernel(), ConstantMean()
    ).double()
    likelihood = _GaussianLikelihoodBase(HeteroskedasticNoise(noise))
    y = torch.sin(3 * Z).sum(1)
    return Exact(Z, y, likelihood, ScaleKernel(RBFKernel(ard_num_dims=3)), ConstantMean()).double().eval(), noise


@pytest.mark.slow
def test_noise_that_is_a_function_of_the_input() -> None:
    """The mean and the latent variance are the host's; what needs the noise is refused."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        subject, _ = noisy_model(rng)
        x, x0 = torch.as_tensor(rng.random((2, 3))), torch.as_tensor(rng.random(3))
        with torch.no_grad():
            f = subject(x)
        e = gplens.explain(subject, x, baseline=x0)
        torch.testing.assert_close(e.prediction, f.mean, rtol=1e-8, atol=1e-8)
        e = gplens.explain(subject, x, baseline=x0, target=EpistemicVariance())
        torch.testing.assert_close(e.prediction, f.variance, rtol=1e-7, atol=1e-8)
    for target, what in ((PredictiveVariance(), r"Var\[y\|f\]"), (Exceeds(0.1), r"P\(y > t\|f\)")):
        with pytest.raises(ValueError, match=what):
            gplens.explain(subject, x, baseline=x0, target=target)


def test_another_noise_model_is_noticed() -> None:
    subject, noise = noisy_model(np.random.default_rng(1))
    reading = gplens.read(subject)
    gplens.explain(reading, X, baseline=Rows(X0))
    with torch.no_grad():
        noise.mean_module.constant.add_(1.0)
    with pytest.raises(ValueError, match=r"gplens\.read\(model\)"):
        gplens.explain(reading, X, baseline=Rows(X0))
    torch.testing.assert_close(
        gplens.explain(subject, X, baseline=Rows(X0)).prediction, after(subject), rtol=1e-7, atol=1e-7
    )


def after(subject: Any) -> Tensor:
    subject.train()
    subject.eval()
    with torch.no_grad():
        return subject(X).mean


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_refused_with_the_name_and_the_dtype(dtype: torch.dtype) -> None:
    """GPyTorch itself cannot predict in it."""
    exact = Exact(POINTS.to(dtype), POINTS.sum(1).to(dtype), GaussianLikelihood(), RBFKernel(), ConstantMean())
    for subject in (model(0.0), exact):
        with pytest.raises((TypeError, RuntimeError)):
            subject.to(dtype).eval()(X.to(dtype)).mean.sum()
        with pytest.raises(ValueError, match=rf"float32.*raw_|float32.*variational.*{dtype}"):
            gplens.explain(subject, X, baseline=Rows(X0), target=Latent())
    with pytest.raises(ValueError, match=rf"raw_noise.*{dtype}"):
        gplens.explain(model(0.0), X, baseline=Rows(X0), likelihood=GaussianLikelihood().to(dtype))


def test_whole_numbers_as_parameters_are_no_half_precision() -> None:
    subject = model(0.0)
    subject.mean_module.columns = torch.nn.Parameter(torch.arange(3), requires_grad=False)
    assert gplens.explain(subject, X, baseline=Rows(X0), target=Latent()).values.isfinite().all()


def test_a_small_noise_keeps_its_digits() -> None:
    """Not as a difference from a variance of one."""
    likelihood = GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-14)).double()
    likelihood.noise = 3e-12
    subject = model(0.0)
    total, latent = (
        gplens.explain(subject, X, baseline=Rows(X0), likelihood=likelihood, target=target).prediction
        for target in (PredictiveVariance(), EpistemicVariance())
    )
    reading = gplens.read(subject, likelihood)
    assert reading.likelihood is not None
    variance: Any = reading.likelihood.total_variance()
    assert variance.noise[0] == pytest.approx(likelihood.noise.item(), rel=1e-12)
    torch.testing.assert_close(total, latent + likelihood.noise.item(), rtol=1e-12, atol=0.0)
